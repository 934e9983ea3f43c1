// Reads memory that another thread may unmap at any moment, or that was never there.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heaptape::recorder {

// Copies up to `bytes` bytes, no more than a page, from `address` on, and returns how many: fewer
// where the next page cannot be read, none where nothing can, or somebody forbids the call. By the
// kernel: a load would be answered by a signal. Takes 1 us.
size_t copy_foreign(uintptr_t address, void* copy, size_t bytes);

}  // namespace heaptape::recorder
