// What model:slabs maps. It never unmaps: jemalloc 5.3.0 keeps its memory on Linux (opt.retain).
#pragma once

#include <cstdint>

#include "allocators/models/model.h"
#include "allocators/models/slabs/slab_classes.h"

namespace heaptape::allocators::slabs {

class SystemMemory {
 public:
  explicit SystemMemory(AddressSpace& space) : space_(space) {}

  // From the top downwards, as Linux places mappings; an aligned one leaves a gap above. Zeroed.
  // 0: no room.
  uint64_t map(uint64_t bytes) { return map_down_to(kBlocksEnd, bytes, kPageBytes); }
  // For metadata, which has room left when blocks have none.
  uint64_t map_metadata(uint64_t bytes, uint64_t alignment) {
    return map_down_to(kModelBase, bytes, alignment);
  }

  uint64_t mapped_bytes() const { return mapped_bytes_; }

 private:
  uint64_t map_down_to(uint64_t limit, uint64_t bytes, uint64_t alignment) {
    if (lowest_ < limit || bytes > lowest_ - limit || lowest_ - limit - bytes < alignment) return 0;
    lowest_ = round_down(lowest_ - bytes, alignment);
    mapped_bytes_ += bytes;
    space_.commit({lowest_, lowest_ + bytes});
    return lowest_;
  }

  // The place within 1 GiB is that of the first mapping of a preloaded libjemalloc.so.2 without
  // address randomization: it decides when a second table of the index is needed.
  static constexpr uint64_t kTop = 0x2ffff7600000;
  static constexpr uint64_t kBlocksEnd = kModelBase + (uint64_t{1} << 41);

  AddressSpace& space_;
  uint64_t lowest_ = kTop;
  uint64_t mapped_bytes_ = 0;
};

}  // namespace heaptape::allocators::slabs
