// Which pages of another process are resident. proc(5), /proc/PID/pagemap.
#pragma once

#include <cstdint>
#include <span>

#include "allocators/backend.h"
#include "base/address/region_set.h"

namespace heaptape::allocators {

enum class PagemapAccess : uint8_t {
  kScan,  // by stretches, PAGEMAP_SCAN; falls back to kRead on Linux before 6.7
  kRead,  // page by page; for over 1 TiB, the resident size of the whole process
};

// The resident pages of one process, over repeated looks. A resident page stays resident until the
// process gives it back, so only pages absent at the last look are checked again, provided the
// caller reports what was given back. It must report every such call: munmap, madvise and the like.
// (Pages in swap count as resident.) One thread.
class ResidentPages {
 public:
  explicit ResidentPages(int pid, PagemapAccess access = PagemapAccess::kScan)
      : pid_(pid), access_(access) {}

  // `regions` are ascending ranges with no page in common. A page partly in a region counts whole.
  // Fails if the process is gone, or may not be inspected.
  Result<Residency> look(std::span<const AddressRange> regions);

  // Pages of `range` may be gone, or replaced by others.
  void forget(AddressRange range);
  // Any page may be gone.
  void forget_all() { known_ = {}; }

 private:
  int pid_;
  PagemapAccess access_;
  base::RegionSet known_;  // whole groups of pages, all resident
};

}  // namespace heaptape::allocators
