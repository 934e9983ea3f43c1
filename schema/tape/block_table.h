// The blocks of a chunk by their addresses.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heaptape::schema {

// The blocks that the calls of a chunk handed out, numbered from 0. An address that was handed out
// more than once has the last number. Open addressing with linear probing, at most half full.
// Addresses are not 0. One thread.
// Memory: at most 64 bytes for each address.
class BlockTable {
 public:
  struct Block {
    uint64_t address = 0;  // 0: of none
    uint32_t number = 0;
    uint32_t size_class = 0;  // of each kind of size classes, one in a byte
  };

  uint32_t count() const { return count_; }

  // Makes room for that many more blocks.
  void reserve(size_t more) {
    const size_t most = addresses_ + more;
    if (slots_.size() <= most * 3) grow(std::bit_ceil(most * 3 + 1));
  }
  void prefetch(uint64_t address) const { __builtin_prefetch(&slots_[slot_of(address)]); }

  // The block as it was handed out last: one without an address if it never was. Requires a
  // reserve() before.
  const Block& find(uint64_t address) const { return slots_[place_of(address)]; }
  // Numbers the block. Requires room.
  void add(uint64_t address, uint32_t size_class) { find_or_add(address, size_class, 1); }
  // Does either, without a jump on which: find() if `is_new` is 0, else add(), if it is 1.
  Block find_or_add(uint64_t address, uint32_t size_class, uint32_t is_new) {
    const size_t place = place_of(address);
    const Block found = slots_[place];
    addresses_ += is_new & (found.address == 0);
    // The slot behind the table where nothing is added.
    slots_[place + (mask_ + 1 - place) * (1 - is_new)] = {address, count_, size_class};
    count_ += is_new;
    return found;
  }

  // Forgets the blocks and keeps the memory for others.
  void clear() {
    std::ranges::fill(slots_, Block{});
    addresses_ = count_ = 0;
  }

 private:
  size_t slot_of(uint64_t address) const {
    // Fibonacci hashing: Knuth, The Art of Computer Programming, volume 3, 6.4.
    return address * 0x9e3779b97f4a7c15 >> shift_;
  }
  // Where that address is, or the free slot where it would be.
  size_t place_of(uint64_t address) const {
    size_t at = slot_of(address);
    while (slots_[at].address != address && slots_[at].address != 0) at = (at + 1) & mask_;
    return at;
  }
  [[gnu::noinline]] void grow(size_t slots) {
    std::vector<Block> old(slots + 1);
    old.swap(slots_);
    if (!old.empty()) old.pop_back();
    mask_ = slots - 1;
    shift_ = 64 - std::countr_zero(slots);
    for (const Block& block : old) {
      if (block.address != 0) slots_[place_of(block.address)] = block;
    }
  }

  std::vector<Block> slots_;  // and one behind them, for what is not added
  size_t mask_ = 0;
  size_t addresses_ = 0;  // of blocks
  int shift_ = 0;
  uint32_t count_ = 0;
};

}  // namespace heaptape::schema
