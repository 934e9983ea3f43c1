// Data of a chunk that is cut into runs, found from any address inside it by arithmetic. It stands
// for the two header pages of a real chunk and the headers of its small runs, which the model keeps
// outside the simulated memory.
#pragma once

#include <cstdint>

#include "allocators/models/address_table.h"
#include "allocators/models/bit_ranges.h"
#include "allocators/models/runs/run_geometry.h"

namespace heaptape::allocators::runs {

enum class PageUse : uint8_t { kFree, kHeader, kSmallRun, kLargeRun };

// Valid for the first and the last page of a run, free or not, and for every page of a small run.
struct RunPage {
  PageUse use = PageUse::kFree;
  uint8_t first = 0;  // page of the chunk where the run begins
  uint8_t count = 0;  // pages in the run
};
static_assert(kChunkPages <= 256, "page numbers fit a byte");

// A run of regions of one bin. Bit n of free_regions (n % 64 of word n / 64): region n is free.
struct SmallRun {
  static constexpr uint32_t kWords = (max_region_count() + 63) / 64;

  uint64_t address;
  uint32_t bin;
  uint32_t free_count;
  uint64_t free_regions[kWords];
};

// Zeroed memory is a chunk never used. Pages are numbered from the start of the chunk.
struct RunChunk {
  uint64_t address;
  RunPage pages[kChunkPages];
  BitRanges<kChunkPages> dirty;   // pages that are free, and written to since the last purge
  BitRanges<kChunkPages> absent;  // pages never written to, or purged and not used since
  uint32_t dirty_count;
  bool listed_dirty;           // see PageRuns::dirty_chunks_
  SmallRun runs[kChunkPages];  // by first page

  uint64_t page_address(uint32_t page) const { return address + page * kRunPageBytes; }
};

constexpr uint32_t page_in_chunk(uint64_t address) {
  return (address & (kRunChunkBytes - 1)) >> kRunPageLog2;
}

// All chunks of the address space. Memory is taken by the page, where a chunk is first used.
class ChunkMap {
 public:
  RunChunk& chunk(uint64_t address) { return chunks_[address]; }
  SmallRun& run(uint64_t address) { return chunk(address).runs[page_in_chunk(address)]; }
  // For a chunk that was in use at some time.
  const RunChunk& chunk(uint64_t address) const { return *chunks_.find(address); }

 private:
  AddressTable<RunChunk, kRunChunkLog2> chunks_;
};

}  // namespace heaptape::allocators::runs
