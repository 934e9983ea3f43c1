// Sizes of live blocks by address, for heaps that keep nothing in or beside their blocks. A hash
// table with linear probing, in which a removal moves later entries up (Knuth, volume 3, section
// 6.4, algorithm R).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heaptape::allocators {

class BlockSizes {
 public:
  BlockSizes() : entries_(kLeastEntries) {}

  // `address` is not 0 and not yet present.
  void insert(uint64_t address, uint64_t bytes) {
    if (++count_ * 2 > entries_.size()) grow();
    place({address, bytes});
  }

  // The block must be present.
  uint64_t& operator[](uint64_t address) { return entries_[find(address)].bytes; }
  uint64_t get(uint64_t address) const { return entries_[find(address)].bytes; }

  void erase(uint64_t address) {
    size_t gap = find(address);
    --count_;
    for (size_t i = next(gap); entries_[i].address != 0; i = next(i)) {
      // An entry may move up to the gap unless its home lies after the gap.
      const size_t home = home_of(entries_[i].address);
      const size_t mask = entries_.size() - 1;
      if (((i - home) & mask) < ((i - gap) & mask)) continue;
      entries_[gap] = entries_[i];
      gap = i;
    }
    entries_[gap] = {};
  }

 private:
  static constexpr size_t kLeastEntries = 1024;

  struct Entry {
    uint64_t address = 0;  // 0: none
    uint64_t bytes = 0;
  };

  size_t next(size_t i) const { return (i + 1) & (entries_.size() - 1); }
  // Fibonacci hashing (Knuth, volume 3, section 6.4).
  size_t home_of(uint64_t address) const {
    return (address * 0x9e3779b97f4a7c15) >> (64 - std::countr_zero(entries_.size()));
  }
  size_t find(uint64_t address) const {
    size_t i = home_of(address);
    while (entries_[i].address != address) i = next(i);
    return i;
  }
  void place(const Entry& entry) {
    size_t i = home_of(entry.address);
    while (entries_[i].address != 0) i = next(i);
    entries_[i] = entry;
  }
  void grow() {
    std::vector<Entry> old(entries_.size() * 2);
    old.swap(entries_);
    for (const Entry& entry : old) {
      if (entry.address != 0) place(entry);
    }
  }

  std::vector<Entry> entries_;  // a power of two, at most half of them in use
  size_t count_ = 0;
};

}  // namespace heaptape::allocators
