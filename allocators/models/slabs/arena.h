// State shared by threads: memory for records, pages and slabs. Follows arena.h of jemalloc 5.3.0.
#pragma once

#include <cstdint>

#include "allocators/models/slabs/slab_bins.h"

namespace heaptape::allocators::slabs {

// State shared by all arenas.
struct SharedState {
  explicit SharedState(AddressSpace& space)
      : system(space), first_metadata(system), index(first_metadata) {
    first_metadata.allocate(kTablesBytes, kLineBytes);
  }

  SystemMemory system;
  MetadataBlocks first_metadata;  // of arena 0, and of the index
  ExtentIndex index;
  PageAllocator::Counts page_counts;
  SlabCounts slab_counts;

 private:
  static constexpr uint64_t kTablesBytes = 896;  // slots of caches, background threads
};

class Arena {
 public:
  // `metadata` and `shared` outlive it.
  Arena(SharedState& shared, MetadataBlocks& metadata, const PageAllocator::Options& options)
      : pages(*this, shared.system, metadata, shared.index, shared.page_counts, options),
        slabs(pages, shared.index, shared.slab_counts) {
    metadata.allocate(kArenaBytes, kLineBytes);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  PageAllocator pages;
  SlabBins slabs;

 private:
  // The size of jemalloc's own, derived from how many records fit after it.
  static constexpr uint64_t kArenaBytes = 89008;
};

}  // namespace heaptape::allocators::slabs
