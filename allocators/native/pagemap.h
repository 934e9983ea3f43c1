// Which pages of another process are resident. proc(5), /proc/PID/pagemap.
#pragma once

#include <cstdint>
#include <span>

#include "allocators/backend.h"

namespace heaptape::allocators {

enum class PagemapAccess : uint8_t {
  kScan,  // by stretches, PAGEMAP_SCAN; as kRead on Linux before 6.7, which cannot
  kRead,  // page by page; for regions of more than 1 TiB, only what the whole process has resident
};

// `regions` are ascending ranges of process `pid` and have no page in common. A page of which only
// a part is in a region counts whole. Fails when the process is gone, or not ours to look at.
Result<Residency> read_residency(int pid, std::span<const AddressRange> regions,
                                 PagemapAccess access = PagemapAccess::kScan);

}  // namespace heaptape::allocators
