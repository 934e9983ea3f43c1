// Reads memory that another thread may unmap at any moment, or that was never mapped.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heaptape::recorder {

// Copies up to `bytes` bytes, no more than a page, from `address` on, and returns how many: fewer
// if the next page cannot be read, 0 if nothing can or the call is forbidden. The kernel copies,
// because a load could raise a signal. Takes 1 us.
size_t copy_foreign(uintptr_t address, void* copy, size_t bytes);

// Whether the page at this address can be read now. One system call.
bool is_page_readable(uintptr_t page);

}  // namespace heaptape::recorder
