// Which pages of another process are resident. proc(5), /proc/PID/pagemap.
#pragma once

#include <span>

#include "allocators/backend.h"

namespace heaptape::allocators {

// `regions` are ascending ranges of process `pid`, which must be ours to look at. A page counts
// whole when a part of it is in a region. Linux before 6.7 needs 8 bytes read for each page; there,
// of regions beyond 1 TiB only the resident memory of the whole process is told.
enum class PagemapAccess { kScan, kRead };  // kScan reads where the system cannot scan
Result<Residency> read_residency(int pid, std::span<const AddressRange> regions,
                                 PagemapAccess access = PagemapAccess::kScan);

}  // namespace heaptape::allocators
