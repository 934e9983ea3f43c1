// The heaps of all arenas but the main one: 64 MiB each, reserved and aligned to as much, writable
// from the front as far as needed (glibc 2.36, malloc/arena.c: heap_info).
//
// If an arena continues in a further heap, the old one ends in a fence: a header that counts as in
// use, so that nothing merges beyond it, and a second header that says so. glibc finds its way back
// from the sizes in both; here each heap knows its fence.
#pragma once

#include <cstdint>
#include <vector>

#include "allocators/models/model.h"
#include "allocators/models/ptmalloc/chunk_memory.h"

namespace heaptape::allocators::ptmalloc {

class Arena;

struct SubHeap {
  Arena* arena = nullptr;       // null if the place is free
  uint32_t previous = 0;        // heap of the same arena, kNoHeap for the first
  uint64_t bytes = 0;           // in use
  uint64_t writable_bytes = 0;  // peak of `bytes`; beyond `bytes`, contents are gone
  Chunk fence = kNoChunk;
};

class SubHeaps {
 public:
  static constexpr uint32_t kNoHeap = UINT32_MAX;

  SubHeaps(AddressSpace& space, ChunkMemory& memory) : space_(space), memory_(memory) {}

  SubHeap& operator[](uint32_t heap) { return heaps_[heap]; }

  // A heap with `bytes` and the padding in use, less than that if necessary, at least 32 KiB.
  // kNoHeap if `bytes` are too many for a heap, or the model already has its maximum of heaps
  // (512).
  uint32_t create(Arena& arena, uint32_t previous, uint64_t bytes, uint64_t top_pad,
                  const CommitRule& rule);
  bool grow(uint32_t heap, uint64_t bytes, const CommitRule& rule);
  // `bytes` is a multiple of the page size. The memory stays writable.
  void shrink(uint32_t heap, uint64_t bytes) { heaps_[heap].bytes -= bytes; }
  void destroy(uint32_t heap);

  // Appends the memory that shrinking left, ascending.
  void append_absent(std::vector<AddressRange>& ranges) const;

  // Calls visit(range) for the writable memory of each heap.
  template <typename Visit>
  void for_each_range(Visit visit) const {
    for (uint32_t i = 0; i < heaps_.size(); ++i) {
      visit(AddressRange{address_of_heap(i), address_of_heap(i) + heaps_[i].writable_bytes});
    }
  }

  static uint64_t address_of_heap(uint32_t heap) { return address_of(first_of_heap(heap)); }

 private:
  uint32_t free_place();

  AddressSpace& space_;
  ChunkMemory& memory_;
  std::vector<SubHeap> heaps_;
};

}  // namespace heaptape::allocators::ptmalloc
