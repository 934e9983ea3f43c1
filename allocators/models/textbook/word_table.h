// One word for each unit of address space, 0 at first: what a real heap keeps in its blocks or in a
// page map. Memory is taken where words are written.
#pragma once

#include <cstdint>

#include "base/address/address_tree.h"

namespace heaptape::allocators::textbook {

template <int kUnitLog2>
class WordTable {
 public:
  uint64_t& operator[](uint64_t address) {
    return tree_.leaf(address).words[(address % base::kLeafSpan) >> kUnitLog2];
  }
  uint64_t get(uint64_t address) const {
    const Leaf* leaf = tree_.find(address);
    return leaf == nullptr ? 0 : leaf->words[(address % base::kLeafSpan) >> kUnitLog2];
  }

 private:
  struct Leaf {
    uint64_t words[base::kLeafSpan >> kUnitLog2];
  };

  base::AddressTree<Leaf> tree_;
};

}  // namespace heaptape::allocators::textbook
