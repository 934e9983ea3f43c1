// Blocks of model:runs that are too large for a chunk: whole chunks of their own, as in
// mozjemalloc (Firefox ESR 52).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "allocators/models/runs/chunk_space.h"

namespace heaptape::allocators::runs {

class HugeBlocks {
 public:
  explicit HugeBlocks(ChunkSpace& space) : space_(space) {}

  // `alignment` is a power of two and at least a chunk.
  Placement allocate(uint64_t bytes, uint64_t alignment = kRunChunkBytes);
  void release(uint64_t address);
  uint64_t usable_bytes(uint64_t address) const;
  // Succeeds if `bytes` take as many chunks as the block has. The block never becomes less usable,
  // because without MALLOC_DECOMMIT the original records growth only.
  bool try_resize_in_place(uint64_t address, uint64_t bytes);

  // Memory after the usable part of each block, up to the end of its chunks; not in order.
  void append_absent(std::vector<AddressRange>& ranges) const;
  uint64_t mapped_bytes() const { return mapped_bytes_; }

 private:
  ChunkSpace& space_;
  std::map<uint64_t, uint64_t> usable_bytes_;  // by address
  uint64_t mapped_bytes_ = 0;
};

}  // namespace heaptape::allocators::runs
