// The headers of all chunks, in a shadow of the simulated heap: one cell of 8 bytes for each unit
// of 16 bytes. A chunk is named by the cell it begins at; its cells hold what glibc keeps in the
// chunk:
//
//   cell 0   units of the free chunk before, 0 if that is in use   own units
//   cell 1   next in its list                                      previous
//   cell 2   next of another size (large bins)                     previous
//
// Cells 1 and 2 are meaningful while the chunk is free or cached. glibc keeps "the chunk before is
// in use" in a bit of its own; the only place where both that bit and a size are set is the end of
// an arena's heap, see sub_heaps.h.
//
//   chunk:   0 .. kMainFirst   heads of the bins, kArenaHeads for each arena
//            .. kHeapsFirst    the heap of the main arena, from the initial break
//            .. 2^32           heaps of the other arenas, 64 MiB each
#pragma once

#include <bitset>
#include <cstdint>

#include "allocators/models/model.h"
#include "allocators/models/ptmalloc/chunk_size.h"

namespace heaptape::allocators::ptmalloc {

using Chunk = uint32_t;

inline constexpr Chunk kNoChunk = 0;
inline constexpr Chunk kMappedChunk = UINT32_MAX;  // not in a heap: see mapped_chunks.h

inline constexpr int kHeapUnitsLog2 = 22;  // of a heap of an arena
inline constexpr uint64_t kHeapMaxBytes = uint64_t{1} << (kHeapUnitsLog2 + kUnitLog2);
inline constexpr uint32_t kMaxArenas = 512;
inline constexpr uint32_t kArenaHeads = 256;
inline constexpr Chunk kMainFirst = kMaxArenas * kArenaHeads;
inline constexpr Chunk kHeapsFirst = 1u << 31;
inline constexpr uint32_t kMaxHeaps = kHeapsFirst >> kHeapUnitsLog2;

// Simulated addresses. No offset into a mapping can be mistaken for one into the main heap.
inline constexpr uint64_t kMainBase = kModelBase;
inline constexpr uint64_t kMainMaxBytes = to_bytes(kHeapsFirst - kMainFirst);
inline constexpr uint64_t kHeapsBase = kModelBase + (uint64_t{1} << 41);
inline constexpr uint64_t kHeapsBytes = to_bytes(kHeapsFirst);
inline constexpr uint64_t kMappingsBase = kModelBase + (uint64_t{1} << 42);
inline constexpr uint64_t kMappingsEnd = kWrapperBase;

constexpr uint64_t address_of(Chunk chunk) {
  return chunk < kHeapsFirst ? kMainBase + to_bytes(chunk - kMainFirst)
                             : kHeapsBase + to_bytes(chunk - kHeapsFirst);
}
constexpr uint64_t block_of(Chunk chunk) {
  return address_of(chunk) + kHeaderBytes;
}

constexpr bool is_main(Chunk chunk) {
  return chunk < kHeapsFirst;
}
constexpr uint32_t heap_of(Chunk chunk) {
  return (chunk - kHeapsFirst) >> kHeapUnitsLog2;
}
constexpr Chunk first_of_heap(uint32_t heap) {
  return kHeapsFirst + (heap << kHeapUnitsLog2);
}

// The chunk of a block in the main heap or another; kMappedChunk for any other address.
constexpr Chunk chunk_of(uint64_t block) {
  const uint64_t address = block - kHeaderBytes;
  if (address - kMainBase < kMainMaxBytes) [[likely]] {
    return kMainFirst + static_cast<Chunk>((address - kMainBase) >> kUnitLog2);
  }
  if (address - kHeapsBase < kHeapsBytes) {
    return kHeapsFirst + static_cast<Chunk>((address - kHeapsBase) >> kUnitLog2);
  }
  return kMappedChunk;
}

// Cells read as 0 at first. Throws std::bad_alloc. One thread.
class ChunkMemory {
 public:
  ChunkMemory();
  ~ChunkMemory();
  ChunkMemory(const ChunkMemory&) = delete;
  ChunkMemory& operator=(const ChunkMemory&) = delete;

  // Cells of chunks below `end`, from 64 MiB of heap before it on, may be used from now on.
  void open(Chunk end) {
    if (!open_[(end - 1) >> kHeapUnitsLog2]) open_slot((end - 1) >> kHeapUnitsLog2);
  }

  uint32_t units(Chunk chunk) const { return cells_[chunk].second; }
  void set_units(Chunk chunk, uint32_t units) { cells_[chunk].second = units; }

  uint32_t free_before(Chunk chunk) const { return cells_[chunk].first; }
  void set_free_before(Chunk chunk, uint32_t units) { cells_[chunk].first = units; }

  bool in_use(Chunk chunk) const { return free_before(chunk + units(chunk)) == 0; }

  Chunk& next(Chunk chunk) { return cells_[chunk + 1].first; }
  Chunk& previous(Chunk chunk) { return cells_[chunk + 1].second; }
  Chunk next(Chunk chunk) const { return cells_[chunk + 1].first; }
  Chunk previous(Chunk chunk) const { return cells_[chunk + 1].second; }

  // In the list of sizes; kNoChunk for all but the first chunk of a size.
  Chunk& smaller(Chunk chunk) { return cells_[chunk + 2].first; }
  Chunk& larger(Chunk chunk) { return cells_[chunk + 2].second; }

 private:
  struct Cell {
    uint32_t first;
    uint32_t second;
  };
  static constexpr size_t kSlots = size_t{1} << (32 - kHeapUnitsLog2);
  static constexpr size_t kSlotBytes = sizeof(Cell) << kHeapUnitsLog2;

  void open_slot(uint32_t slot);

  Cell* cells_;
  std::bitset<kSlots> open_;
};

}  // namespace heaptape::allocators::ptmalloc
