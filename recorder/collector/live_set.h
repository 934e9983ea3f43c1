// The addresses at which a live block begins, after the calls merged so far. One bit for 8 bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/address/address_range.h"
#include "base/address/address_tree.h"

namespace heaptape::recorder {

// Whether blocks count that begin 16 bytes into a page: that is where glibc puts a block with a
// mapping of its own.
enum class MappedChunks : uint8_t { kCount, kSkip };

// Addresses must be below base::kAddressLimit. Two addresses in the same 8 bytes are one: real
// blocks begin on multiples of 8. Memory grows with inserted addresses only, by a page (4 KiB) for
// each 256 KiB of addresses, and by none for the first kFew that are live at once: a process of a
// fork storm has no more, and what the kernel takes to map and unmap the tree's pages was a third
// of what recording it cost (BM_RecordForks). One thread.
class LiveSet {
 public:
  static constexpr size_t kFew = 32;

  bool contains(uint64_t address) const {
    if (!tree_) [[unlikely]]
      return index_among_few(address) != few_count_;
    const Leaf* leaf = tree_->find(address);
    return leaf != nullptr && (leaf->words[word_of(address)] & bit_of(address)) != 0;
  }
  // False when the address was there already.
  bool insert(uint64_t address) { return set(address, true); }
  // False when the address was not there.
  bool erase(uint64_t address) { return set(address, false); }
  // insert() or erase(), without a branch on `is_live`.
  bool set(uint64_t address, bool is_live) {
    if (!tree_) [[unlikely]]
      return set_among_few(address, is_live);
    Leaf* leaf = tree_->find(address);
    if (leaf == nullptr) [[unlikely]] {
      if (!is_live) return false;
      leaf = &tree_->leaf(address);
    }
    uint64_t& word = leaf->words[word_of(address)];
    const uint64_t bit = bit_of(address);
    if (((word & bit) != 0) == is_live) [[unlikely]]
      return false;
    word ^= bit;
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

  size_t index_among_few(uint64_t address) const;  // few_count_ when it is not there
  bool set_among_few(uint64_t address, bool is_live);

  // Until there is a tree: the addresses, rounded down to multiples of 8, in no order.
  std::array<uint64_t, kFew> few_;
  size_t few_count_ = 0;
  std::optional<base::AddressTree<Leaf>> tree_;
};

}  // namespace heaptape::recorder
