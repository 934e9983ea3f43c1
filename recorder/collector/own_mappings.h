// The live blocks to which glibc gave a mapping of their own, after the calls merged so far.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/address/address_range.h"
#include "base/address/pages.h"

namespace heaptape::recorder {

// Such a block begins 16 bytes into its mapping, which ends with the last page of the block. Some
// blocks elsewhere look the same: one in 256 of those of a page or more. For other allocators the
// ranges mean nothing. One thread.
class OwnMappings {
 public:
  // Where glibc puts such a block, from the mapping's beginning (malloc.c, sysmalloc_mmap()).
  static constexpr uint64_t kBlockOffset = 16;
  static constexpr bool may_have_one(uint64_t address) {
    return address % base::kPageBytes == kBlockOffset;
  }

  // `address` is below base::kAddressLimit; `size` is what the program asked for.
  void insert(uint64_t address, uint64_t size) {
    if (!may_have_one(address)) [[likely]]
      return;
    if (size >= base::kPageBytes) {
      sizes_[address] = size;
    } else {
      sizes_.erase(address);  // the free of the block before was lost
    }
  }
  void erase(uint64_t address) {
    if (!may_have_one(address)) [[likely]]
      return;
    if (sizes_.erase(address) == 0 && awaits_) given_up_.push_back(address);
  }

  // It will inherit() those of the process from which it was forked, but for those that it gives up
  // until then. Null: there are none, or too many.
  void await_inheritance() { awaits_ = true; }
  void inherit(const OwnMappings* parent) {
    if (parent != nullptr) sizes_.insert(parent->sizes_.begin(), parent->sizes_.end());
    for (const uint64_t address : given_up_) sizes_.erase(address);
    given_up_ = {};
    awaits_ = false;
  }

  size_t count() const { return sizes_.size(); }
  // Calls visit(range) for each, by address. Ranges are whole pages.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& [address, size] : sizes_) {
      if (size >= base::kAddressLimit - address) continue;  // no real block; a hostile program's
      visit(base::AddressRange{base::page_down(address), base::page_up(address + size)});
    }
  }

 private:
  std::map<uint64_t, uint64_t> sizes_;  // by address; a hostile program chooses them
  std::vector<uint64_t> given_up_;      // while it awaits an inheritance
  bool awaits_ = false;
};

}  // namespace heaptape::recorder
