// The blocks of a chunk by their addresses.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <random>
#include <span>

namespace heaptape::schema {

// The blocks that the calls of a chunk handed out, numbered from 0. An address that was handed out
// more than once has the last number. Open addressing with linear probing, at most a third full,
// and a multiplier that nobody outside can know: no addresses are worse than others.
// Addresses are not 0. One thread. Memory: 48 to 96 bytes for each address, as far as it is used;
// none after clear().
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
    const size_t slots = (addresses_ + more) * 3 + 1;
    if (slots_ == nullptr || mask_ + 1 < slots) grow(std::bit_ceil(std::max(slots, first_slots_)));
  }
  void prefetch(uint64_t address) const { __builtin_prefetch(&slots_[slot_of(address)]); }

  // The block as it was handed out last: one without an address if it never was. Requires a
  // reserve() before.
  const Block& find(uint64_t address) const { return slots_[place_of(address)]; }
  // Numbers the block. Requires room.
  void add(uint64_t address, uint32_t size_class) { find_or_add(address, size_class, 1); }
  // find(), and then add() if `is_new` is 1, not if it is 0: no jump depends on that.
  Block find_or_add(uint64_t address, uint32_t size_class, uint32_t is_new) {
    const size_t place = place_of(address);
    const Block found = slots_[place];
    addresses_ += is_new & (found.address == 0);
    // The slot behind the table where nothing is added.
    slots_[place + (mask_ + 1 - place) * (1 - is_new)] = {address, count_, size_class};
    count_ += is_new;
    return found;
  }

  // Forgets the blocks. The next ones get as much room as these had.
  void clear() {
    if (slots_ != nullptr) first_slots_ = mask_ + 1;
    slots_.reset();
    addresses_ = count_ = 0;
  }

 private:
  size_t slot_of(uint64_t address) const {
    // Multiplicative hashing: Knuth, The Art of Computer Programming, volume 3, 6.4.
    return address * multiplier_ >> shift_;
  }
  // Where that address is, or the free slot where it would be.
  size_t place_of(uint64_t address) const {
    size_t at = slot_of(address);
    while (slots_[at].address != address && slots_[at].address != 0) at = (at + 1) & mask_;
    return at;
  }
  [[gnu::noinline]] void grow(size_t slots) {
    Slots old(static_cast<Block*>(std::calloc(slots + 1, sizeof(Block))));
    if (old == nullptr) throw std::bad_alloc();
    old.swap(slots_);
    const size_t old_slots = old == nullptr ? 0 : mask_ + 1;
    mask_ = slots - 1;
    shift_ = 64 - std::countr_zero(slots);
    for (const Block& block : std::span(old.get(), old_slots)) {
      if (block.address != 0) slots_[place_of(block.address)] = block;
    }
  }
  static uint64_t random_odd() {
    static const uint64_t number = [] {
      std::random_device random;
      return uint64_t{random()} << 32 | random() | 1;
    }();
    return number;
  }

  struct Free {
    void operator()(Block* blocks) const { std::free(blocks); }
  };
  // Pages that are not used take no memory.
  using Slots = std::unique_ptr<Block[], Free>;  // NOLINT: an array of its own

  Slots slots_;  // and one behind them, for what is not added
  uint64_t multiplier_ = random_odd();
  size_t mask_ = 0;
  size_t first_slots_ = 0;
  size_t addresses_ = 0;  // of blocks
  int shift_ = 0;
  uint32_t count_ = 0;
};

}  // namespace heaptape::schema
