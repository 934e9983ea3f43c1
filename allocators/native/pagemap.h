// Which pages of another process are resident. proc(5), /proc/PID/pagemap.
#pragma once

#include <cstdint>
#include <span>

#include "allocators/backend.h"
#include "base/address/region_set.h"

namespace heaptape::allocators {

enum class PagemapAccess : uint8_t {
  kScan,  // by stretches, PAGEMAP_SCAN; as kRead on Linux before 6.7, which cannot
  kRead,  // page by page; of more than 1 TiB to look at, what the whole process has resident
};

// What is resident of one process, look after look. A page that is resident stays so until the
// process gives it back; so only what was absent at the last look is looked at again, if the caller
// reports what was given back. It must know of every such call: munmap, madvise and their like.
// (Pages in swap count as resident.) One thread.
class ResidentPages {
 public:
  explicit ResidentPages(int pid, PagemapAccess access = PagemapAccess::kScan)
      : pid_(pid), access_(access) {}

  // `regions` are ascending ranges and have no page in common. A page of which only a part is in a
  // region counts whole. Fails when the process is gone, or not ours to look at.
  Result<Residency> look(std::span<const AddressRange> regions);

  // Pages of `range` may be gone, or others in their place.
  void forget(AddressRange range);
  // Any may be gone.
  void forget_all() { known_ = {}; }

 private:
  int pid_;
  PagemapAccess access_;
  base::RegionSet known_;  // whole groups of pages, all resident
};

}  // namespace heaptape::allocators
