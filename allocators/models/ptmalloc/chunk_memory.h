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

namespace heaptape::allocators::ptmalloc {

// Chunk sizes in glibc malloc (2.36, malloc/malloc.c, x86-64). All sizes in the heap are
// counted in units of 16 bytes, header included; a request of n bytes takes n + 8 bytes, because a
// block may use the first field of the next header.
inline constexpr int kUnitLog2 = 4;
inline constexpr uint64_t kUnitBytes = 1u << kUnitLog2;
inline constexpr uint32_t kMinUnits = 2;
inline constexpr uint64_t kMinBytes = kMinUnits * kUnitBytes;
inline constexpr uint64_t kHeaderBytes = 16;        // of a chunk: its block begins after it
inline constexpr uint64_t kMaxRequest = INT64_MAX;  // PTRDIFF_MAX

inline constexpr uint32_t kFastMaxUnits = 10;   // of the largest M_MXFAST
inline constexpr uint32_t kSmallEndUnits = 64;  // bins hold one size each below
inline constexpr uint32_t kCacheMaxUnits = 65;  // of the thread caches
inline constexpr uint32_t kCacheBins = kCacheMaxUnits - kMinUnits + 1;
inline constexpr uint64_t kConsolidateUnits = 65536 / kUnitBytes;  // freed at once

// Units of the chunk for a request. bytes <= kMaxRequest.
constexpr uint64_t units_for(uint64_t bytes) {
  return bytes <= 24 ? kMinUnits : (bytes + 23) >> kUnitLog2;
}

constexpr uint64_t to_bytes(uint64_t units) {
  return units << kUnitLog2;
}

// The bytes of a heap chunk that the program may use.
constexpr uint64_t usable_bytes(uint64_t units) {
  return to_bytes(units) - 8;
}

// Bin of a chunk: 1 is the unsorted one, small bins are numbered by their units, and large bins get
// wider by powers of 8 as sizes rise. units >= kSmallEndUnits.
constexpr uint32_t large_bin_of(uint64_t units) {
  const uint64_t bytes = to_bytes(units);
  if (bytes >> 6 <= 48) return static_cast<uint32_t>(48 + (bytes >> 6));
  if (bytes >> 9 <= 20) return static_cast<uint32_t>(91 + (bytes >> 9));
  if (bytes >> 12 <= 10) return static_cast<uint32_t>(110 + (bytes >> 12));
  if (bytes >> 15 <= 4) return static_cast<uint32_t>(119 + (bytes >> 15));
  if (bytes >> 18 <= 2) return static_cast<uint32_t>(124 + (bytes >> 18));
  return 126;
}

constexpr uint32_t bin_of(uint64_t units) {
  return units < kSmallEndUnits ? static_cast<uint32_t>(units) : large_bin_of(units);
}

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
