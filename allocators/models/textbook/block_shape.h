// How large the blocks of a sequential-fit heap are, and where they may lie: its options.
//
//   heap   | pad | header | contents ...... | header | contents ... | header | (wilderness)
//                         ^ address of the block, a multiple of the alignment
//          |<------------ block ----------->|
//
// A block is known by the address of its contents. Its size, header included, is a multiple of the
// alignment and never below kLeastBlockBytes, the room for two tags and two links when it is free.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "allocators/models/textbook/heap_segment.h"

namespace heaptape::allocators::textbook {

class BlockShape {
 public:
  static constexpr uint64_t kLeastBlockBytes = 32;

  explicit BlockShape(const base::Values& options)
      : header_bytes_(kHeaders[options["header_bytes"]]),
        alignment_(kAlignments[options["alignment"]]),
        least_block_bytes_(round_up(kLeastBlockBytes, alignment_)),
        least_rest_bytes_(std::clamp(options["min_split"], least_block_bytes_, kHeapLimit)) {}

  static std::vector<base::Parameter> parameters() {
    return {number_choice("header_bytes", 2, "the allocator's own bytes in each block", kHeaders),
            number_choice("alignment", 0, "of blocks and their sizes", kAlignments),
            {"min_split", kLeastBlockBytes,
             "the smallest remainder that is split off a block, in bytes"}};
  }

  uint64_t header_bytes() const { return header_bytes_; }
  uint64_t alignment() const { return alignment_; }
  uint64_t least_block_bytes() const { return least_block_bytes_; }
  // A smaller remainder stays with its block.
  uint64_t least_rest_bytes() const { return least_rest_bytes_; }

  // The size of the block for a request of `bytes`; below kHeapLimit.
  uint64_t block_bytes(uint64_t bytes) const {
    return std::max(least_block_bytes_, round_up(bytes + header_bytes_, alignment_));
  }
  // Blocks lie between first_block() and blocks_end(), given the end of the segment.
  uint64_t first_block() const {
    return HeapSegment::begin() + round_up(header_bytes_, alignment_);
  }
  uint64_t blocks_end(uint64_t segment_end) const {
    const uint64_t end = round_down(segment_end + header_bytes_, alignment_);
    return std::max(first_block(), end);
  }

 private:
  static constexpr uint64_t kHeaders[] = {0, 4, 8, 16};
  static constexpr uint64_t kAlignments[] = {16, 32, 64, 128};

  uint64_t header_bytes_;
  uint64_t alignment_;
  uint64_t least_block_bytes_;
  uint64_t least_rest_bytes_;
};

}  // namespace heaptape::allocators::textbook
