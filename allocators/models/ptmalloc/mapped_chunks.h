// Chunks that are mappings of their own. A chunk's header is at the beginning of its mapping, or
// further on if its block must be aligned; it has no neighbors.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "allocators/models/free_extents.h"
#include "allocators/models/model.h"
#include "allocators/models/ptmalloc/tuning.h"

namespace heaptape::allocators::ptmalloc {

// The placement of mappings is this model's choice: the lowest of the smallest gaps that fit. The
// kernel's choice depends on all other mappings of a process.
class MappedChunks {
 public:
  MappedChunks(AddressSpace& space, Tuning& tuning, Counts& counts);

  uint64_t count() const { return chunks_.size(); }
  uint64_t mapped_bytes() const { return mapped_bytes_; }

  // A chunk of `chunk_bytes`, a multiple of 16; returns its block, 0 if there is no room.
  uint64_t allocate(uint64_t chunk_bytes, const CommitRule& rule);
  // The block that allocate() returned last.
  uint64_t latest() const { return latest_; }
  // Moves the header of the latest block so that the block is aligned, to 32 or more. The request
  // was for a chunk of `chunk_bytes`; the mapping is larger by the alignment.
  void align_latest(uint64_t alignment, uint64_t chunk_bytes);

  // In these three, `block` is that of a live chunk. The block may move to another address.
  uint64_t resize(uint64_t block, uint64_t chunk_bytes);
  void release(uint64_t block);
  uint64_t usable_bytes(uint64_t block) const;

  // The pages before and after aligned blocks that no header and no request was ever on.
  void append_absent(std::vector<AddressRange>& ranges) const;

 private:
  struct Mapping {
    uint64_t bytes;       // of all of it
    uint64_t offset;      // of the chunk in it
    uint64_t used_bytes;  // of it, up to the end of the largest request
  };

  // 0 if there is no room.
  uint64_t reserve(uint64_t bytes) { return gaps_.take_best(bytes, kPageBytes, 0); }
  void commit(uint64_t address, uint64_t bytes, const CommitRule& rule);
  void unmap(uint64_t address, uint64_t bytes);

  AddressSpace& space_;
  Tuning& tuning_;
  Counts& counts_;
  FreeExtents gaps_;
  std::unordered_map<uint64_t, Mapping> chunks_;  // by block
  uint64_t latest_ = 0;
  uint64_t aligned_ = 0;  // mappings with an offset
  uint64_t mapped_bytes_ = 0;
};

}  // namespace heaptape::allocators::ptmalloc
