// The addresses at which a live block begins, after the calls merged so far. One bit for 8 bytes.
#pragma once

#include <cstdint>

#include "base/address/address_range.h"
#include "base/address/address_tree.h"

namespace heaptape::recorder {

// Whether blocks count that begin 16 bytes into a page: that is where glibc puts a block with a
// mapping of its own.
enum class MappedChunks : uint8_t { kCount, kSkip };

// Addresses must be below base::kAddressLimit. Two addresses in the same 8 bytes are one: real
// blocks begin on multiples of 8. Memory grows with inserted addresses only, by a page (4 KiB) for
// each 256 KiB of addresses. One thread.
class LiveSet {
 public:
  bool contains(uint64_t address) const {
    const Leaf* leaf = tree_.find(address);
    return leaf != nullptr && (leaf->words[word_of(address)] & bit_of(address)) != 0;
  }
  void insert(uint64_t address) { tree_.leaf(address).words[word_of(address)] |= bit_of(address); }
  // False when the address was not there.
  bool erase(uint64_t address) {
    if (!contains(address)) return false;
    tree_.leaf(address).words[word_of(address)] &= ~bit_of(address);
    return true;
  }
  // Whether a live block begins in the range, whose ends are multiples of 8.
  bool any_in(base::AddressRange range, MappedChunks mapped_chunks) const;

 private:
  static constexpr int kGranuleLog2 = 3;
  static constexpr uint64_t kWordSpan = uint64_t{64} << kGranuleLog2;
  struct Leaf {
    uint64_t words[base::kLeafSpan / kWordSpan];
  };
  static size_t word_of(uint64_t address) {
    return static_cast<size_t>((address % base::kLeafSpan) / kWordSpan);
  }
  static uint64_t bit_of(uint64_t address) {
    return uint64_t{1} << ((address >> kGranuleLog2) % 64);
  }

  base::AddressTree<Leaf> tree_;
};

}  // namespace heaptape::recorder
