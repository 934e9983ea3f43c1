// Which pages of another process are resident. proc(5), /proc/PID/pagemap.
#pragma once

#include <span>

#include "allocators/backend.h"

namespace heaptape::allocators {

// `regions` are ascending ranges of process `pid`, which must be ours to look at. A page counts
// whole when a part of it is in a region.
Result<Residency> read_residency(int pid, std::span<const AddressRange> regions);

}  // namespace heaptape::allocators
