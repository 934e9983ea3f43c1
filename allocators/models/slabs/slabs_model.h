// model:slabs, the jemalloc design since version 4: small blocks as regions of slabs, large blocks
// as extents of pages, a cache for each thread, and free pages that are purged gradually. It
// follows jemalloc 5.3.0 as Debian 12 ships it (64-bit Linux); the rules are restated in our own
// words, each in the file of its layer. docs/models/slabs.md has all of them, the counters, and the
// omissions.
//
//   SlabsModel --+-- ThreadCache, one a thread
//                +-- ArenaPool -- Arena --+-- SlabBins
//                                         '-- PageAllocator --+-- ExtentCache -- PairingHeap
//                                                             '-- SmoothDecay
//   SharedState: ExtentIndex -- MetadataBlocks -- SystemMemory -- AddressSpace
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "allocators/models/model.h"
#include "allocators/models/slabs/arena_pool.h"
#include "allocators/models/slabs/thread_cache.h"

namespace heaptape::allocators {

class SlabsModel {
 public:
  SlabsModel(AddressSpace& space, const base::Values& options);
  SlabsModel(const SlabsModel&) = delete;
  SlabsModel& operator=(const SlabsModel&) = delete;
  ~SlabsModel();

  // As AllocatorModel says. 0 bytes count as 1.
  Placement allocate(uint64_t bytes, uint64_t alignment);
  Placement allocate_zeroed(uint64_t bytes) { return allocate(bytes, 0); }
  Placement reallocate(uint64_t address, uint64_t bytes);
  void release(uint64_t address);
  void set_thread(uint32_t thread) {
    if (thread != thread_index_) [[unlikely]]
      switch_to(thread);
  }
  void end_thread(uint32_t thread);
  void set_time(uint64_t time_ns) { now_ns_ = time_ns; }

  // Returns what the thread of the last call caches to its arena, and purges all free pages.
  void give_back_memory();
  // The mallctl() calls of schema::SteeringOp.
  SteeringOutcome steer(const schema::SteeringCall& call);

  // Pages never written to, or purged since.
  std::vector<AddressRange> absent() const;
  // The blocks that threads cache, and the blocks of metadata, as a whole.
  KeptMemory kept_memory(std::span<const AddressRange> gaps) const;
  std::vector<Counter> counters() const;
  uint64_t work() const;
  static const char* work_unit() { return "extents examined and pages purged"; }
  static BackendTraits traits() { return {.granule_log2 = 3, .min_hole_bytes = 8}; }
  static std::vector<base::Parameter> parameters();

 private:
  struct Thread;

  void switch_to(uint32_t index);
  slabs::Arena& arena_for(uint64_t bytes);

  Placement allocate_class(uint32_t size_class, uint64_t bytes);
  uint64_t block_of_class(uint32_t size_class, uint64_t bytes);
  Placement allocate_aligned(uint64_t bytes, uint64_t alignment);
  uint64_t small_block(uint32_t size_class);
  uint64_t large_block(slabs::Arena& arena, uint32_t size_class, uint64_t alignment);
  void free_block(slabs::Extent& extent, uint64_t address);
  bool try_resize_in_place(slabs::Extent& extent, uint32_t size_class);
  uint64_t block_to_move_to(uint32_t old_class, uint32_t size_class);
  Placement noted(uint64_t address, uint32_t size_class, uint64_t bytes);
  void note_freed(uint32_t size_class);
  void flush_cache();
  template <typename Work>
  SteeringOutcome for_arenas(int64_t index, Work work);

  uint64_t oversize_bytes_;
  bool cached_;
  slabs::SharedState shared_;
  slabs::CacheCounts cache_counts_;
  slabs::ArenaPool arenas_;
  std::vector<std::unique_ptr<Thread>> threads_;  // by index
  Thread* thread_ = nullptr;
  uint32_t thread_index_ = UINT32_MAX;
  uint64_t now_ns_ = 0;
  uint64_t large_in_place_ = 0;
  uint64_t bytes_copied_ = 0;
};

static_assert(AllocatorModel<SlabsModel>);

}  // namespace heaptape::allocators
