// One arena: its bins, the chunk at the end of its memory ("top"), and the order in which a request
// tries them (glibc 2.36: _int_malloc, _int_free, malloc_consolidate, _int_realloc, _int_memalign).
//
//   arena.cc         requests and frees
//   arena_resize.cc  resizes, aligned blocks
//   arena_grow.cc    top meets the system: sysmalloc, systrim, heap_trim, mtrim
#pragma once

#include <algorithm>
#include <cstdint>

#include "allocators/models/ptmalloc/chunk_bins.h"
#include "allocators/models/ptmalloc/fast_bins.h"
#include "allocators/models/ptmalloc/process_memory.h"
#include "allocators/models/ptmalloc/thread_cache.h"

namespace heaptape::allocators::ptmalloc {

// Sizes are units of chunks, header included. `cache` is the calling thread's, null if it has none;
// requests do not look there first: the caller does.
class Arena {
 public:
  // Arena 0 is the main one: it grows by brk. The others have no memory before begin_heaps().
  Arena(ProcessMemory& process, uint32_t index);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  uint32_t index() const { return index_; }

  // Takes the first heap, with room for a request of `bytes` if a heap can hold that.
  bool begin_heaps(uint64_t bytes);

  // A chunk of at least `units`; kMappedChunk if it got a mapping of its own, kNoChunk on failure.
  Chunk allocate(uint64_t units, ThreadCache* cache);
  // The same for a chunk with an aligned block. `alignment` is a power of two, 32 or more.
  Chunk allocate_aligned(uint64_t units, uint64_t alignment, ThreadCache* cache);
  // Where the chunk is now; as above. On failure it stays where it was.
  Chunk resize(Chunk chunk, uint64_t units, ThreadCache* cache);

  void release(Chunk chunk, ThreadCache* cache) {
    const uint32_t units = chunks_.units(chunk);
    if (units <= kCacheMaxUnits && cache != nullptr && cache->has_room(units)) [[likely]] {
      cache->push(chunk, units);
    } else if (units <= process_.tuning.fast_max_units) {
      fast_.push(chunk, units);
    } else {
      release_to_bins(chunk, units);
    }
  }

  // malloc_trim(pad) for this arena: purges the pages of free chunks and cuts top.
  void give_back_memory(uint64_t pad);
  // Joins the chunks of the fastbins.
  void consolidate();

  // mallinfo2: arena and fordblks + fsmblks.
  uint64_t system_bytes() const { return system_bytes_; }
  uint64_t free_bytes() const {
    return to_bytes(bins_.free_units() + fast_.free_units() + top_units_);
  }

  // Calls visit(chunk) for each chunk of a fastbin.
  template <typename Visit>
  void for_each_fast(Visit visit) const {
    fast_.for_each(visit);
  }

  // The address up to which calloc must clear memory from top.
  uint64_t used_once_end() const;
  // The pages of top that no block or header was ever on, as far as known.
  AddressRange fresh_top() const;
  Chunk top() const { return top_; }
  uint64_t end() const { return address_of(top_) + top_bytes(); }

 private:
  bool is_main() const { return index_ == 0; }

  Chunk take_fast(uint32_t units, ThreadCache* cache);
  Chunk take_small(uint32_t units, ThreadCache* cache);
  Chunk sort_unsorted(uint64_t units, ThreadCache* cache);
  Chunk take_fit(uint64_t units);
  Chunk split_top(uint64_t units);
  Chunk allocate_from_system(uint64_t units, ThreadCache* cache);

  // `chunk` was taken from a list and has at least `units`; the excess goes back to the front of
  // the unsorted list. Returns the excess, or kNoChunk.
  Chunk carve(Chunk chunk, uint64_t units);
  // The same for a chunk in use: the rest is freed.
  void cut_tail(Chunk chunk, uint32_t has_units, uint64_t units, ThreadCache* cache);
  Chunk move(Chunk chunk, uint64_t units, ThreadCache* cache);

  void release_to_bins(Chunk chunk, uint32_t units);
  // Joins the chunk with free neighbors, and puts it on the unsorted list or makes it top. Returns
  // its new units.
  uint32_t join(Chunk chunk, uint32_t units);

  void set_top(Chunk top, uint64_t units) {
    top_ = top;
    top_units_ = static_cast<uint32_t>(units);
    chunks_.set_free_before(top, 0);
    highest_top_ = std::max(highest_top_, top);
  }
  uint64_t top_bytes() const { return to_bytes(top_units_); }
  bool grow_break(uint64_t units);
  CommitRule rule_of_break(uint64_t units, uint64_t lacks) const;
  bool grow_heaps(uint64_t units, ThreadCache* cache);
  void end_heap(uint32_t heap, Chunk old_top, uint32_t old_units, ThreadCache* cache);
  void trim_break(uint64_t pad);
  void trim_heaps();
  bool leave_heap();
  // The memory from a chunk at `begin`, behind its fields, to one at `end` has no contents.
  void note_unwritten(Chunk begin, Chunk end);
  // How much of top may be given back, by the same rule for both kinds of memory.
  uint64_t trimmable_bytes(uint64_t pad) const;

  ProcessMemory& process_;
  ChunkMemory& chunks_;
  Counts& counts_;
  const uint32_t index_;
  FastBins fast_;
  ChunkBins bins_;
  Chunk last_remainder_ = kNoChunk;
  Chunk top_ = kMainFirst;
  uint32_t top_units_ = 0;
  Chunk highest_top_ = kMainFirst;  // in this heap
  uint64_t system_bytes_ = 0;
};

}  // namespace heaptape::allocators::ptmalloc
