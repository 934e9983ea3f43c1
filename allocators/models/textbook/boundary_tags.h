// Boundary tags (Knuth, The Art of Computer Programming, volume 1, section 2.5): size and use of a
// block, readable from either end, so that a freed block finds its neighbors in constant time. The
// tags stand for the words that a real heap has in its blocks.
#pragma once

#include <cstdint>

#include "allocators/models/address_table.h"

namespace heaptape::allocators::textbook {

struct Hole {
  uint64_t address = 0;
  uint64_t bytes = 0;  // 0 if none

  uint64_t end() const { return address + bytes; }
  bool operator==(const Hole&) const = default;
};

// Invariant: blocks are contiguous. Addresses and sizes are multiples of kTagUnitBytes; a block has
// at least two units, so that its two tags are distinct.
class BoundaryTags {
 public:
  static constexpr int kUnitLog2 = 4;
  static constexpr uint64_t kTagUnitBytes = uint64_t{1} << kUnitLog2;

  void set_used(uint64_t address, uint64_t bytes) {
    words_[address + bytes - kTagUnitBytes] = 0;
    words_[address] = bytes | kUsed;
  }
  void set_free(Hole hole) {
    words_[hole.address] = hole.bytes;
    words_[hole.end() - kTagUnitBytes] = hole.bytes;
  }

  // For the block that begins at `address`.
  uint64_t bytes(uint64_t address) const { return words_.get(address) & ~kUsed; }

  // The hole that begins, or ends, at `address`; none if a used block does. One of them must.
  Hole hole_at(uint64_t address) const {
    const uint64_t word = words_.get(address);
    return (word & kUsed) != 0 ? Hole{} : Hole{address, word};
  }
  Hole hole_before(uint64_t address) const {
    const uint64_t bytes = words_.get(address - kTagUnitBytes);
    return bytes == 0 ? Hole{} : Hole{address - bytes, bytes};
  }

 private:
  static constexpr uint64_t kUsed = 1;

  WordTable<kUnitLog2> words_;
};

}  // namespace heaptape::allocators::textbook
