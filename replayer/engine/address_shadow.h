// Which slot the block at an address has: 4 bytes for every 16 bytes of address space in which a
// block ever began, laid out like that address space, so that looking up has the locality of the
// heap itself.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>

#include "base/address/address_tree.h"

namespace heaptape::replayer {

// Of a live block of the tape.
struct SlotBlock {
  uint64_t address = 0;  // 0: none, or lost to a newer block
  uint64_t size = 0;     // requested bytes
};

// Tapes with blocks on odd multiples of 8 need finer granules (see fits); the rare blocks with less
// alignment than 8 go to a hash table. Addresses are below base::kAddressLimit, as TapeReader's
// are. One thread.
class AddressShadow {
 public:
  static constexpr uint32_t kNoSlot = UINT32_MAX;

  uint32_t find(uint64_t address) const {
    if (address % 8 != 0) [[unlikely]]
      return find_odd(address);
    if (address % granule() != 0) return kNoSlot;
    const Leaf* leaf = tree_->find(address);
    return leaf == nullptr ? kNoSlot : leaf->slots[index(address)] - 1;
  }

  // Whether set() takes the address. If not: refine() first.
  bool fits(uint64_t address) const { return address % granule() == 0 || address % 8 != 0; }
  // Goes over to 8-byte granules. `blocks`, by slot, are the ones that are set now.
  void refine(std::span<const SlotBlock> blocks);

  // Requires fits(address).
  void set(uint64_t address, uint32_t slot) {
    if (address % 8 != 0) [[unlikely]] {
      odd_[address] = slot;
    } else {
      tree_->leaf(address).slots[index(address)] = slot + 1;
    }
  }
  // Requires that `address` has a slot.
  void clear(uint64_t address) {
    if (address % 8 != 0) [[unlikely]] {
      odd_.erase(address);
    } else {
      tree_->leaf(address).slots[index(address)] = 0;
    }
  }

 private:
  struct Leaf {
    uint32_t slots[base::kLeafSpan / 8];  // slot + 1; the second half is for 8-byte granules
  };
  uint64_t granule() const { return uint64_t{1} << granule_log2_; }
  size_t index(uint64_t address) const { return (address % base::kLeafSpan) >> granule_log2_; }
  uint32_t find_odd(uint64_t address) const;

  std::unique_ptr<base::AddressTree<Leaf>> tree_ = std::make_unique<base::AddressTree<Leaf>>();
  std::unordered_map<uint64_t, uint32_t> odd_;
  int granule_log2_ = 4;
};

}  // namespace heaptape::replayer
