// Reads the heap of another process that glibc's malloc serves.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "allocators/backend.h"

namespace heaptape::allocators {

// The memory in `gaps` that is kept ready for the next request, as in Backend::kept_memory. Nothing
// if the process may not be read.
std::optional<std::vector<AddressRange>> read_kept_chunks(int pid,
                                                          std::span<const AddressRange> gaps,
                                                          uint64_t initial_break);

}  // namespace heaptape::allocators
