// The fastbins of one arena: last in, first out, one size each. Their chunks stay "in use", so that
// no neighbor joins them, until all are consolidated.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "allocators/models/ptmalloc/chunk_memory.h"

namespace heaptape::allocators::ptmalloc {

class FastBins {
 public:
  static constexpr uint32_t kBins = kFastMaxUnits - kMinUnits + 1;

  explicit FastBins(ChunkMemory& memory) : memory_(memory) {}

  // Set by any push; only consolidation resets it, so it can stand with all bins empty.
  bool touched() const { return touched_; }
  void reset_touched() { touched_ = false; }

  uint64_t free_units() const { return free_units_; }

  void push(Chunk chunk, uint32_t units) {
    Chunk& first = first_[units - kMinUnits];
    memory_.next(chunk) = first;
    first = chunk;
    free_units_ += units;
    touched_ = true;
  }

  // kNoChunk if the bin is empty.
  Chunk pop(uint32_t units) {
    Chunk& first = first_[units - kMinUnits];
    const Chunk chunk = first;
    if (chunk == kNoChunk) return kNoChunk;
    first = memory_.next(chunk);
    free_units_ -= units;
    return chunk;
  }

  // Calls visit(chunk) for each, bin by bin.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (Chunk chunk : first_) {
      for (; chunk != kNoChunk; chunk = std::as_const(memory_).next(chunk)) visit(chunk);
    }
  }

  // Takes all chunks of a bin: a chain by next(), the newest first.
  Chunk take_chain(uint32_t bin) {
    const Chunk first = first_[bin];
    first_[bin] = kNoChunk;
    for (Chunk chunk = first; chunk != kNoChunk; chunk = memory_.next(chunk)) {
      free_units_ -= bin + kMinUnits;
    }
    return first;
  }

 private:
  ChunkMemory& memory_;
  std::array<Chunk, kBins> first_{};
  uint64_t free_units_ = 0;
  bool touched_ = false;
};

}  // namespace heaptape::allocators::ptmalloc
