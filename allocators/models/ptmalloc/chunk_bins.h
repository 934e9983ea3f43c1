// The doubly linked lists of free chunks of one arena (glibc 2.36: bins, binmap, unlink_chunk and
// the part of _int_malloc that files chunks).
//
// A free chunk enters at the front of the unsorted list and leaves it at the back, when a request
// goes through the list; small bins keep that order, large bins are sorted, largest first. In a
// large bin, the first of equal chunks is also in a second list, of sizes, which searches walk; the
// others follow it, the newest second.
#pragma once

#include <array>
#include <cstdint>

#include "allocators/models/ptmalloc/chunk_memory.h"
#include "allocators/models/ptmalloc/tuning.h"

namespace heaptape::allocators::ptmalloc {

class ChunkBins {
 public:
  ChunkBins(ChunkMemory& memory, Counts& counts, uint32_t arena);

  uint64_t free_units() const { return free_units_; }

  // The chunk must have its units set.
  void push_unsorted(Chunk chunk) {
    const uint32_t units = memory_.units(chunk);
    free_units_ += units;
    if (units >= kSmallEndUnits) memory_.smaller(chunk) = memory_.larger(chunk) = kNoChunk;
    link(chunk, head(kUnsorted), memory_.next(head(kUnsorted)));
  }

  // The next chunk in turn, kNoChunk if there is none.
  Chunk oldest_unsorted() const {
    const Chunk oldest = memory_.previous(head(kUnsorted));
    return oldest == head(kUnsorted) ? kNoChunk : oldest;
  }
  bool is_only_unsorted(Chunk chunk) const {
    return memory_.previous(chunk) == head(kUnsorted) && memory_.next(chunk) == head(kUnsorted);
  }

  // Takes a chunk out of the list it is in.
  void unlink(Chunk chunk) {
    const uint32_t units = memory_.units(chunk);
    free_units_ -= units;
    const Chunk next = memory_.next(chunk);
    const Chunk previous = memory_.previous(chunk);
    memory_.previous(next) = previous;
    memory_.next(previous) = next;
    if (units >= kSmallEndUnits && memory_.smaller(chunk) != kNoChunk) unlink_size(chunk, next);
  }

  // Moves the oldest unsorted chunk to the bin of its size.
  void file(Chunk chunk);

  // The oldest chunk of exactly this size, kNoChunk if there is none. units < kSmallEndUnits.
  Chunk take_small(uint32_t units) {
    const Chunk oldest = memory_.previous(head(units));
    if (oldest == head(units)) return kNoChunk;
    unlink(oldest);
    return oldest;
  }

  // The smallest chunk with at least `units` in the large bin for that size; kNoChunk if there is
  // none.
  Chunk take_large(uint64_t units);

  // Calls visit(chunk) for each large chunk that may have `units`, and for some others.
  template <typename Visit>
  void for_each_large(uint32_t units, Visit visit) const {
    const auto visit_bin = [&](uint32_t bin) {
      for (Chunk chunk = memory_.next(head(bin)); chunk != head(bin); chunk = memory_.next(chunk)) {
        visit(chunk);
      }
    };
    visit_bin(kUnsorted);
    for (uint32_t bin = large_bin_of(units); bin < kBins; ++bin) visit_bin(bin);
  }

  // The last, smallest chunk of the first nonempty bin beyond `bin`.
  Chunk take_beyond(uint32_t bin);

 private:
  static constexpr uint32_t kUnsorted = 1;
  static constexpr uint32_t kBins = 128;
  static constexpr uint32_t kBinsPerWord = 64;

  // Only the link cell of a head is used, so heads can be neighbors.
  Chunk head(uint32_t bin) const { return first_head_ + bin; }

  void link(Chunk chunk, Chunk previous, Chunk next) {
    memory_.next(chunk) = next;
    memory_.previous(chunk) = previous;
    memory_.previous(next) = chunk;
    memory_.next(previous) = chunk;
  }
  void unlink_size(Chunk chunk, Chunk next);
  void file_large(Chunk chunk, uint32_t units, Chunk bin_head);

  ChunkMemory& memory_;
  Counts& counts_;
  const Chunk first_head_;
  uint64_t free_units_ = 0;
  std::array<uint64_t, kBins / kBinsPerWord> maybe_filled_{};  // a set bit may be out of date
};

}  // namespace heaptape::allocators::ptmalloc
