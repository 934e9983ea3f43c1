// Which pages of another process are resident, over repeated looks.
#pragma once

#include <cstdint>
#include <span>

#include "allocators/backend.h"
#include "base/address/pagemap.h"
#include "base/address/region_set.h"

namespace heaptape::allocators {

// The resident pages of one process; where over 1 TiB would have to be read page by page, the
// resident size of the whole process. A resident page stays resident until the process gives it
// back, so only pages absent at the last look are checked again, provided the caller reports what
// was given back. It must report every such call: munmap, madvise and the like. (Pages in swap
// count as resident.) One thread.
class ResidentPages {
 public:
  explicit ResidentPages(int pid, base::PagemapAccess access = base::PagemapAccess::kScan)
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
  base::PagemapAccess access_;
  base::RegionSet known_;  // whole groups of pages, all resident
};

}  // namespace heaptape::allocators
