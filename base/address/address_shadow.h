// A number for each address at which a block begins: 4 bytes for every 16 bytes of address space in
// which one ever began, laid out like that address space, so that a look-up has the locality of the
// heap itself.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "base/address/address_tree.h"
#include "base/address/pages.h"

namespace heaptape::base {

// If a block begins on an odd multiple of 8, the 64 MiB around it change to 4 bytes for every 8;
// the rare blocks with less alignment go to a hash table. Addresses are below kAddressLimit, as
// TapeReader's are. One thread.
class AddressShadow {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // kNone if nothing is set.
  uint32_t find(uint64_t address) const {
    if (address % 8 != 0) [[unlikely]]
      return find_odd(address);
    const Leaf* leaf = tree_.find(address);
    if (leaf == nullptr || address % leaf->granule() != 0) return kNone;
    return leaf->at(address) - 1;
  }
  // `number` is not kNone. Only writes: a page that is read before it is written costs two faults.
  void set(uint64_t address, uint32_t number) {
    if (address % 8 != 0) [[unlikely]] {
      odd_[address] = number;
      return;
    }
    Leaf& leaf = tree_.leaf(address);
    if (address % leaf.granule() != 0) [[unlikely]]
      leaf.refine();
    leaf.has_numbers[leaf.index(address) / kStretch] = true;
    leaf.at(address) = number + 1;
  }
  // Requires that `address` has a number.
  void clear(uint64_t address) {
    if (address % 8 != 0) [[unlikely]] {
      odd_.erase(address);
    } else {
      tree_.leaf(address).at(address) = 0;
    }
  }
  // find() and, if there is a number, clear().
  uint32_t take(uint64_t address) {
    if (address % 8 != 0) [[unlikely]]
      return take_odd(address);
    Leaf* const leaf = tree_.find(address);
    if (leaf == nullptr || address % leaf->granule() != 0) [[unlikely]]
      return kNone;
    uint32_t& place = leaf->at(address);
    const uint32_t number = place;
    if (number != 0) [[likely]]
      place = 0;
    return number - 1;
  }

 private:
  static constexpr size_t kStretch = kPageBytes / sizeof(uint32_t);  // numbers

  // Valid when all its bytes are 0, meaning granules of 16 bytes, which fill the first half.
  struct Leaf {
    uint32_t is_fine;  // 1: of granules of 8 bytes
    // By stretch: whether a number was set in it before refine(). The others have no memory yet,
    // and refine() gives them none: a hostile tape may have a leaf for every two blocks.
    bool has_numbers[kLeafSpan / 8 / kStretch];
    alignas(kPageBytes) uint32_t numbers[kLeafSpan / 8];  // plus 1; 0: none

    uint64_t granule() const { return 16 >> is_fine; }
    size_t index(uint64_t address) const { return address % kLeafSpan >> (4 - is_fine); }
    const uint32_t& at(uint64_t address) const { return numbers[index(address)]; }
    uint32_t& at(uint64_t address) { return numbers[index(address)]; }
    void refine();
  };
  uint32_t find_odd(uint64_t address) const;
  uint32_t take_odd(uint64_t address);

  AddressTree<Leaf> tree_;
  std::unordered_map<uint64_t, uint32_t> odd_;
};

}  // namespace heaptape::base
