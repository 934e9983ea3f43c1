// The pages of an arena: cut from mappings, joined again, purged after they have been free for
// long. Follows pac.c ("page allocator classic") and extent.c of jemalloc 5.3.0.
//
//   allocate: from dirty, muzzy, retained extents in this order; then a new, ever larger mapping
//
//   release:  -> dirty --decay--> (muzzy --decay-->) retained
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "allocators/models/slabs/extent.h"
#include "allocators/models/slabs/extent_cache.h"
#include "allocators/models/slabs/extent_index.h"
#include "allocators/models/slabs/metadata_blocks.h"
#include "allocators/models/slabs/smooth_decay.h"
#include "allocators/models/slabs/system_memory.h"

namespace heaptape::allocators::slabs {

class PageAllocator {
 public:
  struct Options {
    uint64_t dirty_decay_ms;  // as in SmoothDecay
    uint64_t muzzy_decay_ms;  // the same; 0: purged dirty pages are retained
    uint64_t oversize_bytes;  // freed extents of at least this size are purged at once
  };
  struct Counts {
    uint64_t split = 0;
    uint64_t coalesced = 0;
    uint64_t examined = 0;      // in searches for a fit
    uint64_t purged_pages = 0;  // contents given up
  };

  // All outlive it. `counts` is shared with other arenas.
  PageAllocator(Arena& arena, SystemMemory& system, MetadataBlocks& metadata, ExtentIndex& index,
                Counts& counts, const Options& options);

  // `bytes` and `alignment` are multiples of a page, the latter a power of two. The extent is the
  // caller's until released. Null if there is no room. `region_bytes`: of the slab it will be, 0
  // for a large block.
  Extent* allocate(uint64_t bytes, uint64_t alignment, uint64_t region_bytes);
  void release(Extent& extent);
  // Takes `bytes` more from free memory after it; false, with no change, if there is not enough.
  bool try_expand(Extent& extent, uint64_t bytes);
  // Keeps the first `bytes`, fewer than it has, and releases the rest.
  void shrink_to(Extent& extent, uint64_t bytes);
  // Purges pages that are due.
  void decay(uint64_t now_ns);
  // From now on. The pages that are free now count as freed now.
  void set_dirty_decay(uint64_t milliseconds, uint64_t now_ns);
  void set_muzzy_decay(uint64_t milliseconds, uint64_t now_ns);
  // Whether due or not.
  void purge_all();

  // `state` is not kActive.
  uint64_t free_pages(ExtentState state) const {
    return caches_[static_cast<size_t>(state)].pages();
  }

 private:
  enum class PurgeTo { kNextState, kRetained };

  ExtentCache& cache_of(ExtentState state) { return caches_[static_cast<size_t>(state)]; }
  Extent* new_record();
  void drop_record(Extent& record);

  Extent* recycle(ExtentState state, uint64_t bytes, uint64_t alignment);
  Extent* grow(uint64_t bytes, uint64_t alignment, uint64_t region_bytes);
  Extent* split(Extent& extent, uint64_t bytes);
  void deactivate(ExtentState state, Extent& extent);
  void retain(Extent& extent);
  void insert_free(ExtentState state, Extent& extent);
  Extent* free_before(const Extent& extent, ExtentState state);
  Extent* free_behind(const Extent& extent, ExtentState state);
  Extent* coalesce_once(ExtentState state, Extent& extent);
  Extent& coalesce(ExtentState state, Extent& extent);
  Extent& join(Extent& lower, Extent& upper);

  void decay(ExtentState state, SmoothDecay& decay, uint64_t now_ns);
  void purge(ExtentState state, uint64_t limit_pages, PurgeTo to);
  Extent* evict(ExtentState state, uint64_t limit_pages);

  Arena& arena_;
  SystemMemory& system_;
  MetadataBlocks& metadata_;
  ExtentIndex& index_;
  Counts& counts_;
  uint64_t oversize_bytes_;
  SmoothDecay dirty_decay_;
  SmoothDecay muzzy_decay_;
  std::array<ExtentCache, kFreeStates> caches_;  // by state
  std::deque<Extent> records_;
  Extent* spare_records_ = nullptr;  // linked by newer
  uint32_t next_growth_;             // page class
  uint64_t next_serial_ = 0;
};

}  // namespace heaptape::allocators::slabs
