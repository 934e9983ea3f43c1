// The blocks of an imported trace that are live.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heaptape::recorder {

struct LiveBlock {
  uint64_t key = 0;      // as the trace names it; 0: none
  uint64_t address = 0;  // on the tape
  uint64_t size = 0;     // as requested
};

// By key, which is not 0. A table with linear probing: memory grows with the most blocks ever live
// at once, and finding a block takes one or two cache lines. One thread.
class LiveBlocks {
 public:
  LiveBlocks() : blocks_(kFirstSize) {}

  // Null if it is not live. Valid until the next insert() or erase().
  const LiveBlock* find(uint64_t key) const {
    const LiveBlock& block = blocks_[place_of(key)];
    return block.key == 0 ? nullptr : &block;
  }
  // The key must be new.
  void insert(const LiveBlock& block) {
    if (2 * (count_ + 1) > blocks_.size()) grow();
    blocks_[place_of(block.key)] = block;
    ++count_;
  }
  // `block` comes from find().
  void erase(const LiveBlock* block) {
    size_t hole = static_cast<size_t>(block - blocks_.data());
    // The blocks after it close the gap, up to the next free place.
    for (size_t at = next(hole); blocks_[at].key != 0; at = next(at)) {
      const size_t home = home_of(blocks_[at].key);
      const bool may_move = ((at - home) & mask()) >= ((at - hole) & mask());
      if (!may_move) continue;
      blocks_[hole] = blocks_[at];
      hole = at;
    }
    blocks_[hole] = {};
    --count_;
  }
  size_t count() const { return count_; }

 private:
  static constexpr size_t kFirstSize = 1024;  // a power of two, like every size

  size_t mask() const { return blocks_.size() - 1; }
  size_t next(size_t at) const { return (at + 1) & mask(); }
  // Multiplying by a number without a pattern (2^64 over the golden ratio) mixes the upper bits.
  size_t home_of(uint64_t key) const { return ((key * 0x9e3779b97f4a7c15) >> 24) & mask(); }
  // Where the key is, or would be.
  size_t place_of(uint64_t key) const {
    size_t at = home_of(key);
    while (blocks_[at].key != 0 && blocks_[at].key != key) at = next(at);
    return at;
  }
  void grow() {
    std::vector<LiveBlock> old(2 * blocks_.size());
    old.swap(blocks_);
    for (const LiveBlock& block : old) {
      if (block.key != 0) blocks_[place_of(block.key)] = block;
    }
  }

  std::vector<LiveBlock> blocks_;
  size_t count_ = 0;
};

}  // namespace heaptape::recorder
