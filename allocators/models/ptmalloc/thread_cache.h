// The chunks that one thread keeps for itself ("tcache", glibc 2.26 and later): last in, first out,
// one size each, a few chunks of each. They stay "in use", and may belong to any arena.
#pragma once

#include <array>
#include <cstdint>

#include "allocators/models/ptmalloc/chunk_memory.h"

namespace heaptape::allocators::ptmalloc {

class ThreadCache {
 public:
  // sizeof(tcache_perthread_struct): 64 counts and 64 pointers, a block of the thread's arena.
  static constexpr uint64_t kStructBytes = kCacheBins * (2 + 8);

  ThreadCache(ChunkMemory& memory, uint32_t most_per_bin)
      : memory_(memory), most_per_bin_(most_per_bin) {}

  // units <= kCacheMaxUnits.
  bool has_room(uint32_t units) const { return bins_[units - kMinUnits].count < most_per_bin_; }

  void push(Chunk chunk, uint32_t units) {
    Bin& bin = bins_[units - kMinUnits];
    memory_.next(chunk) = bin.first;
    bin.first = chunk;
    ++bin.count;
  }

  // kNoChunk if the bin is empty. units <= kCacheMaxUnits.
  Chunk pop(uint64_t units) {
    Bin& bin = bins_[units - kMinUnits];
    const Chunk chunk = bin.first;
    if (chunk == kNoChunk) return kNoChunk;
    bin.first = memory_.next(chunk);
    --bin.count;
    return chunk;
  }

 private:
  struct Bin {
    Chunk first = kNoChunk;
    uint32_t count = 0;
  };

  ChunkMemory& memory_;
  const uint32_t most_per_bin_;
  std::array<Bin, kCacheBins> bins_;
};

}  // namespace heaptape::allocators::ptmalloc
