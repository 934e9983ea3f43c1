// A value for each unit of address space, initially zero: the data a real heap keeps in its blocks,
// in a page map, or in chunk headers. Memory is taken by the page, where values are written.
#pragma once

#include <cstdint>

#include "base/address/address_tree.h"

namespace heaptape::allocators {

// T must be valid when all its bytes are 0. Addresses are below base::kAddressLimit. References
// stay valid. One thread.
template <typename T, int kUnitLog2>
class AddressTable {
 public:
  // The value of the unit that `address` lies in.
  T& operator[](uint64_t address) { return tree_.leaf(address).values[place_of(address)]; }
  // The same; null if nothing near was ever written.
  const T* find(uint64_t address) const {
    const Leaf* leaf = tree_.find(address);
    return leaf == nullptr ? nullptr : &leaf->values[place_of(address)];
  }
  T get(uint64_t address) const {
    const T* value = find(address);
    return value == nullptr ? T{} : *value;
  }

 private:
  struct Leaf {
    T values[base::kLeafSpan >> kUnitLog2];
  };

  static uint64_t place_of(uint64_t address) { return address % base::kLeafSpan >> kUnitLog2; }

  base::AddressTree<Leaf> tree_;
};

// One word per unit.
template <int kUnitLog2>
using WordTable = AddressTable<uint64_t, kUnitLog2>;

}  // namespace heaptape::allocators
