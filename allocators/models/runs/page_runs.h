// Runs of pages in chunks: the layer of model:runs that splits, joins, purges and gives back.
// Follows the arena of mozjemalloc (Firefox ESR 52); the model has one.
//
//   chunk (1 MiB)  | header, 2 pages | run | free run | run | run | free run ............ |
//
// A free run is never next to another one. Freed pages are dirty until they are used again or
// purged; a purge starts when more than kDirtyMax are dirty and stops at half of that.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "allocators/models/runs/chunk_space.h"
#include "allocators/models/runs/run_chunk.h"

namespace heaptape::allocators::runs {

class PageRuns {
 public:
  static constexpr uint32_t kDirtyMax = 256;

  // Counted as in the original's own statistics: the purge of a whole chunk on its release, which
  // also takes one madvise, is not included.
  struct PurgeCounts {
    uint64_t sweeps = 0;
    uint64_t madvise_calls = 0;
    uint64_t pages = 0;
  };

  PageRuns(ChunkSpace& space, ChunkMap& map) : space_(space), map_(map) {}

  // Where a new run of `pages` (at most kLargestRunPages) begins; 0 if there is no room.
  uint64_t allocate(uint32_t pages, PageUse use);
  // A large run at a multiple of `alignment`, cut out of one of `within_pages`, which must suffice
  // wherever that one begins.
  uint64_t allocate_aligned(uint32_t pages, uint64_t alignment, uint32_t within_pages);
  // The run that begins at `address`.
  void release(uint64_t address);
  // `pages` is less than the large run at `address` has.
  void shrink(uint64_t address, uint32_t pages);
  // `pages` is more than that, and only a free run after it can supply them; else false.
  bool try_grow(uint64_t address, uint32_t pages);

  // Appended in ascending order.
  void append_absent(std::vector<AddressRange>& ranges) const;
  const PurgeCounts& purges() const { return purges_; }
  uint64_t dirty_pages() const { return dirty_pages_; }
  uint64_t mapped_bytes() const { return chunks_.size() * kRunChunkBytes; }

 private:
  enum class Freed { kClean, kDirty };
  struct Span {
    RunChunk* chunk;
    uint32_t first;
    uint32_t count;
  };
  // Free runs by size, then address: count << kCountShift | page number of the whole space.
  using AvailableRuns = std::set<uint64_t>;
  static constexpr int kCountShift = 48;

  static uint64_t key(const Span& span);
  static void describe(const Span& span, PageUse use);
  Span span_at(uint64_t address);

  uint64_t claim(uint32_t pages, PageUse use);
  RunChunk* new_chunk(const CommitRule& rule);
  uint64_t split(AvailableRuns::iterator free_run, uint32_t pages, PageUse use);
  void trim(const Span& run, uint32_t keep_first, uint32_t keep_count, Freed freed);
  void give_back(Span run, Freed freed);
  Span join_neighbours(Span run);
  void retire(RunChunk& chunk);
  void mark_dirty(const Span& run);
  void purge();
  void purge_chunk(RunChunk& chunk);

  ChunkSpace& space_;
  ChunkMap& map_;
  AvailableRuns available_;
  std::set<uint64_t> chunks_;        // addresses, including the spare's
  std::set<uint64_t> dirty_chunks_;  // a chunk stays until a purge finds it clean
  RunChunk* spare_ = nullptr;        // wholly free, not in available_
  uint64_t dirty_pages_ = 0;
  PurgeCounts purges_;
};

}  // namespace heaptape::allocators::runs
