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
#include <vector>

namespace heaptape::schema {

// The blocks that the calls of a chunk handed out, numbered from 0, at most kMostBlocks. An address
// that was handed out more than once has the last number. Addresses are not 0 and below
// kLimit; others are not kept. Open addressing with linear probing, at most two thirds full,
// and a multiplier that nobody outside can know: no addresses are worse than others. One thread.
// Memory: 12 to 24 bytes for each address, as far as it is used, and 4 for each block; none after
// clear().
class BlockTable {
 public:
  static constexpr uint32_t kMostBlocks = uint32_t{1} << 16;
  static constexpr uint64_t kLimit = uint64_t{1} << 48;  // of addresses: a slot has 8 bytes
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t count() const { return count_; }
  // Of each kind of size classes, one in a byte.
  uint32_t size_classes_of(uint32_t number) const { return size_classes_[number]; }

  // Makes room for that many more blocks.
  void reserve(size_t more) {
    const size_t slots = (addresses_ + more) * 3 / 2 + 1;
    if (slots_ == nullptr || mask_ + 1 < slots) grow(std::bit_ceil(std::max(slots, first_slots_)));
    if (size_classes_.size() < count_ + more) size_classes_.resize(count_ + more);
  }
  void prefetch(uint64_t address) const { __builtin_prefetch(&slots_[slot_of(address)]); }

  // kNone if it was never handed out. Requires a reserve() before.
  uint32_t find(uint64_t address) const {
    const uint64_t slot = slots_[place_of(address)];
    return slot != 0 ? static_cast<uint32_t>(slot & kNumberMask) : kNone;
  }
  // Numbers the block, and says whether one at that address has a number already. Requires room.
  bool add(uint64_t address, uint32_t size_classes) {
    const uint64_t number = count_++;
    size_classes_[number] = size_classes;
    if (address >= kLimit) [[unlikely]]
      return false;
    uint64_t& slot = slots_[place_of(address)];
    const bool is_known = slot != 0;
    addresses_ += is_known ? 0 : 1;
    slot = address << kNumberBits | number;
    return is_known;
  }

  // Forgets the blocks. The next ones get as much room as these had.
  void clear() {
    if (slots_ != nullptr) first_slots_ = mask_ + 1;
    slots_.reset();
    size_classes_ = {};
    count_ = 0;
    addresses_ = 0;
  }

 private:
  static constexpr int kNumberBits = 16;
  static constexpr uint64_t kNumberMask = kMostBlocks - 1;

  size_t slot_of(uint64_t address) const {
    // Multiplicative hashing: Knuth, The Art of Computer Programming, volume 3, 6.4.
    return address * multiplier_ >> shift_;
  }
  // Where that address is, or the free slot where it would be.
  size_t place_of(uint64_t address) const {
    size_t at = slot_of(address);
    while (slots_[at] != 0 && slots_[at] >> kNumberBits != address) at = (at + 1) & mask_;
    return at;
  }
  [[gnu::noinline]] void grow(size_t slots) {
    Slots old(static_cast<uint64_t*>(std::calloc(slots, sizeof(uint64_t))));
    if (old == nullptr) throw std::bad_alloc();
    old.swap(slots_);
    const size_t old_slots = old == nullptr ? 0 : mask_ + 1;
    mask_ = slots - 1;
    shift_ = 64 - std::countr_zero(slots);
    for (const uint64_t slot : std::span(old.get(), old_slots)) {
      if (slot != 0) slots_[place_of(slot >> kNumberBits)] = slot;
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
    void operator()(uint64_t* slots) const { std::free(slots); }
  };
  // Pages that are not used take no memory.
  using Slots = std::unique_ptr<uint64_t[], Free>;  // NOLINT: an array of its own

  Slots slots_;  // the address and the number; 0: free
  uint64_t multiplier_ = random_odd();
  size_t mask_ = 0;
  size_t first_slots_ = 0;
  size_t addresses_ = 0;  // in slots_
  int shift_ = 0;
  uint32_t count_ = 0;
  std::vector<uint32_t> size_classes_;  // by number, with room for more
};

}  // namespace heaptape::schema
