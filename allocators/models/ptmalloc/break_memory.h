// The memory below the program break: sbrk(), as the main arena calls it.
#pragma once

#include <cstdint>

#include "allocators/models/model.h"
#include "allocators/models/ptmalloc/chunk_memory.h"
#include "allocators/models/ptmalloc/tuning.h"

namespace heaptape::allocators::ptmalloc {

class BreakMemory {
 public:
  BreakMemory(AddressSpace& space, ChunkMemory& memory, Counts& counts)
      : space_(space), memory_(memory), counts_(counts) {}

  // Both take multiples of the page size. grow() fails where the model's heap ends (32 GiB).
  bool grow(uint64_t bytes, const CommitRule& rule);
  void shrink(uint64_t bytes);

  uint64_t most_bytes() const { return most_bytes_; }

 private:
  AddressSpace& space_;
  ChunkMemory& memory_;
  Counts& counts_;
  uint64_t bytes_ = 0;
  uint64_t most_bytes_ = 0;  // peak
};

}  // namespace heaptape::allocators::ptmalloc
