// The pages of an arena: cut from mappings, joined again, purged when they have been free for long.
// Follows pac.c, ecache.c and extent.c of jemalloc 5.3.0.
//
//   allocate: from dirty, muzzy, retained extents in this order; then a new, ever larger mapping
//
//   release:  -> dirty --decay--> (muzzy --decay-->) retained
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "allocators/models/slabs/extent.h"
#include "allocators/models/slabs/extent_index.h"
#include "allocators/models/slabs/extent_set.h"
#include "allocators/models/slabs/metadata_blocks.h"
#include "allocators/models/slabs/smooth_decay.h"
#include "allocators/models/slabs/system_memory.h"

namespace heaptape::allocators::slabs {

struct ExtentOptions {
  uint64_t dirty_decay_ms = 10000;       // SmoothDecay's
  uint64_t muzzy_decay_ms = 0;           // 0: the dirty go straight to retained
  uint64_t oversize_bytes = UINT64_MAX;  // freed extents from this size on are purged at once
};

struct ExtentCounts {
  uint64_t split = 0;
  uint64_t coalesced = 0;
  uint64_t examined = 0;      // by the search for a fit
  uint64_t purged_pages = 0;  // their contents given up
};

class Extents {
 public:
  // All outlive it. `counts` is shared with other arenas.
  Extents(Arena& arena, SystemMemory& system, MetadataBlocks& metadata, ExtentIndex& index,
          ExtentCounts& counts, const ExtentOptions& options);

  // `bytes` and `alignment` are multiples of a page, the latter a power of two. The extent is the
  // caller's until it is released. Null: no room.
  Extent* allocate(uint64_t bytes, uint64_t alignment);
  void release(Extent& extent);
  // `bytes` more from what is free behind it; false if that is not enough.
  bool expand(Extent& extent, uint64_t bytes);
  void shrink_to(Extent& extent, uint64_t bytes);
  // Purges what is due.
  void decay(uint64_t now_ns);

  // Retained extents; not in order.
  void append_absent(std::vector<AddressRange>& ranges) const;
  // `state` is not kActive.
  uint64_t pages(ExtentState state) const {
    return (state == ExtentState::kDirty   ? dirty_
            : state == ExtentState::kMuzzy ? muzzy_
                                           : retained_)
        .pages();
  }

 private:
  ExtentSet& set_of(ExtentState state);
  Extent* new_record();
  void drop_record(Extent& record);

  Extent* recycle(ExtentState state, uint64_t bytes, uint64_t alignment);
  Extent* grow(uint64_t bytes, uint64_t alignment);
  Extent* split(Extent& extent, uint64_t bytes);
  void deactivate(ExtentState state, Extent& extent);
  void retain(Extent& extent);
  void record(ExtentState state, Extent& extent);
  Extent* free_neighbour(const Extent& extent, ExtentState state, bool behind);
  Extent* coalesce_once(ExtentState state, Extent& extent);
  Extent& coalesce(ExtentState state, Extent& extent);
  Extent& join(Extent& lower, Extent& upper);

  void decay(ExtentState state, SmoothDecay& decay, uint64_t now_ns);
  void purge(ExtentState state, uint64_t limit_pages, bool fully);
  Extent* evict(ExtentState state, uint64_t limit_pages);

  Arena& arena_;
  SystemMemory& system_;
  MetadataBlocks& metadata_;
  ExtentIndex& index_;
  ExtentCounts& counts_;
  uint64_t oversize_bytes_;
  SmoothDecay dirty_decay_;
  SmoothDecay muzzy_decay_;
  ExtentSet dirty_;
  ExtentSet muzzy_;
  ExtentSet retained_;
  std::deque<Extent> records_;
  Extent* spare_records_ = nullptr;  // linked by newer
  uint32_t next_growth_;             // page class
  uint64_t next_serial_ = 0;
};

}  // namespace heaptape::allocators::slabs
