// Which pages of another process are resident. proc(5), /proc/PID/pagemap.
#pragma once

#include <cstdint>
#include <span>

#include "allocators/backend.h"
#include "base/address/region_set.h"

namespace heaptape::allocators {

enum class PagemapAccess : uint8_t {
  kScan,  // by stretches, PAGEMAP_SCAN; as kRead on Linux before 6.7, which cannot
  kRead,  // page by page; for regions of more than 1 TiB, only what the whole process has resident
};

// What is resident of one process, look after look. A page that was resident stays so until the
// process gives it back, so only what was absent is looked at again: 30,000 pages take 0.3 ms, and
// those of 30,000 that were absent a few microseconds. Who looks says what was given back. One
// thread.
class ResidentPages {
 public:
  explicit ResidentPages(int pid, PagemapAccess access = PagemapAccess::kScan)
      : pid_(pid), access_(access) {}

  // `regions` are ascending ranges and have no page in common. A page of which only a part is in a
  // region counts whole. Fails when the process is gone, or not ours to look at.
  Result<Residency> look(std::span<const AddressRange> regions);

  // The process may have given back pages of `range`, or mapped others there, since the last look;
  // it may lose them at any time from now on (MADV_FREE); it may have given back any.
  void forget(AddressRange range);
  void never_remember(AddressRange range);
  void forget_all() { known_ = {}; }

 private:
  int pid_;
  PagemapAccess access_;
  base::RegionSet known_;  // whole groups of pages, all resident
  base::RegionSet fickle_;
};

}  // namespace heaptape::allocators
