// The small blocks of an arena: for each class, the slabs that have room. Follows the bins of
// arena.c in jemalloc 5.3.0 (one shard).
#pragma once

#include <array>
#include <cstdint>

#include "allocators/models/slabs/page_allocator.h"
#include "allocators/models/slabs/pairing_heap.h"

namespace heaptape::allocators::slabs {

struct SlabCounts {
  uint64_t created = 0;
  uint64_t freed = 0;
};

class SlabBins {
 public:
  // Both outlive it.
  SlabBins(PageAllocator& pages, ExtentIndex& index, SlabCounts& counts)
      : pages_(pages), index_(index), counts_(counts) {}

  // Writes `count` regions to blocks[0], [1], ...: those of the current slab from the lowest up,
  // then of the oldest slab with room, then of new ones. Returns how many it got.
  uint32_t take(uint32_t size_class, uint32_t count, uint64_t* blocks);

  // True if the slab becomes empty: it has left its bin and must go to release_slab().
  bool put_back(Extent& slab, uint64_t block);
  void release_slab(Extent& slab);

 private:
  // Invariant: a slab with both free and used regions is current or in `others`; a full one is in
  // neither, unless it is current.
  struct Bin {
    Extent* current = nullptr;
    PairingHeap others;
  };

  bool refill(Bin& bin, uint32_t size_class);
  Extent* new_slab(uint32_t size_class);
  static void remove(Bin& bin, Extent& slab);
  static void offer(Bin& bin, Extent& slab);

  PageAllocator& pages_;
  ExtentIndex& index_;
  SlabCounts& counts_;
  std::array<Bin, kSmallClasses> bins_;
};

}  // namespace heaptape::allocators::slabs
