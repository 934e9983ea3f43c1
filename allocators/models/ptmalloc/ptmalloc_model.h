// model:ptmalloc, the malloc of glibc 2.36 on x86-64 Linux, address for address: kModelBase is the
// initial program break, and every block of the main heap has the same offset from it as in a real
// process. The rules are restated in our own words, each in the file of its layer.
// docs/models/ptmalloc.md has the parameters, the counters and the omissions.
//
//   PtmallocModel -- ThreadArenas --+-- ThreadCache
//                                   +-- Arena -- FastBins, ChunkBins
//   ProcessMemory: Tuning, ChunkMemory, BreakMemory, SubHeaps, MappedChunks -- AddressSpace
#pragma once

#include <cstdint>
#include <vector>

#include "allocators/models/model.h"
#include "allocators/models/ptmalloc/process_memory.h"
#include "allocators/models/ptmalloc/thread_arenas.h"

namespace heaptape::allocators {

class PtmallocModel {
 public:
  PtmallocModel(AddressSpace& space, const base::Values& options);
  PtmallocModel(const PtmallocModel&) = delete;
  PtmallocModel& operator=(const PtmallocModel&) = delete;

  // As AllocatorModel says. Alignments up to 16 are malloc's own.
  Placement allocate(uint64_t bytes, uint64_t alignment);
  Placement allocate_zeroed(uint64_t bytes);
  Placement reallocate(uint64_t address, uint64_t bytes);
  void release(uint64_t address);

  void set_thread(uint32_t thread) {
    if (thread == thread_number_) [[likely]]
      return;
    thread_number_ = thread;
    thread_ = &arenas_.thread(thread);
  }

  void end_thread(uint32_t thread) { arenas_.detach(arenas_.thread(thread)); }

  // malloc_trim(pad).
  void give_back_memory(uint64_t pad = 0);
  // mallopt and malloc_trim.
  SteeringOutcome steer(const schema::SteeringCall& call);

  // A model does not see what the program touches. Pages are absent if nothing can have touched
  // them (pages of top where no header ever was, pages that were skipped to align a block, and
  // pages that an arena's heap gave back, which stay writable), or if give_back_memory() purged
  // them and no block was placed there since.
  std::vector<AddressRange> absent() const;
  KeptMemory kept_memory(std::span<const AddressRange> gaps) const;
  std::vector<Counter> counters() const;
  uint64_t work() const { return process_.counts.work(); }
  static const char* work_unit() { return "chunks visited"; }
  static BackendTraits traits() {
    return {.granule_log2 = ptmalloc::kUnitLog2,
            .min_hole_bytes = ptmalloc::kMinBytes,
            .initial_break = ptmalloc::kMainBase,
            .arena_heap_bytes = kGlibcHeapBytes};
  }
  static std::vector<base::Parameter> parameters();

 private:
  Placement allocate_aligned(uint64_t bytes, uint64_t alignment);
  Placement allocate_from_arena(uint64_t bytes, uint64_t units);
  Placement placed(ptmalloc::Chunk chunk);
  Placement placed_mapping(uint64_t block) const {
    return {block, block == 0 ? 0 : process_.mapped.usable_bytes(block)};
  }

  // Both are the current thread's, and made on first use.
  ptmalloc::Arena& arena(uint64_t bytes) {
    if (thread_->arena == nullptr) [[unlikely]]
      thread_->arena = &arenas_.attach(bytes);
    return *thread_->arena;
  }
  ptmalloc::ThreadCache* cache() {
    if (thread_->cache == nullptr && has_caches_) [[unlikely]]
      make_cache();
    return thread_->cache;
  }
  void make_cache();
  void set_option(int64_t parameter, int64_t value);

  ptmalloc::ProcessMemory process_;
  ptmalloc::ThreadArenas arenas_;
  const bool has_caches_;
  const uint32_t cache_count_;
  uint32_t thread_number_ = 0;
  ptmalloc::ThreadState* thread_;
};

static_assert(AllocatorModel<PtmallocModel>);

// The path that most calls take.
inline Placement PtmallocModel::allocate(uint64_t bytes, uint64_t alignment) {
  if (bytes > ptmalloc::kMaxRequest) return {};
  if (alignment > ptmalloc::kUnitBytes) return allocate_aligned(bytes, alignment);
  const uint64_t units = ptmalloc::units_for(bytes);
  ptmalloc::ThreadCache* const mine = cache();
  if (units <= ptmalloc::kCacheMaxUnits && mine != nullptr) [[likely]] {
    const ptmalloc::Chunk chunk = mine->pop(units);
    if (chunk != ptmalloc::kNoChunk) {
      ++process_.counts.tcache_hits;
      return {ptmalloc::block_of(chunk), ptmalloc::usable_bytes(units)};
    }
  }
  return allocate_from_arena(bytes, units);
}

inline void PtmallocModel::release(uint64_t address) {
  const ptmalloc::Chunk chunk = ptmalloc::chunk_of(address);
  if (chunk == ptmalloc::kMappedChunk) {
    process_.mapped.release(address);
    return;
  }
  ptmalloc::ThreadCache* const mine = cache();
  arenas_.owner(chunk).release(chunk, mine);
}

}  // namespace heaptape::allocators
