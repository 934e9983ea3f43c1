// Which parts of some ranges lie in others, both in ascending order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/address/address_range.h"

namespace heaptape::base {

// `parts` are ascending, do not overlap, and outlive this. The queried ranges may overlap, but none
// begins before the previous one. All calls together take one walk over the parts, plus more for
// parts that several ranges share. One thread.
class Overlap {
 public:
  explicit Overlap(std::span<const AddressRange> parts) : parts_(parts) {}

  uint64_t bytes(AddressRange range) {
    uint64_t bytes = 0;
    for_each(range, [&](AddressRange part) { bytes += part.bytes(); });
    return bytes;
  }
  template <typename Visit>
  void for_each(AddressRange range, Visit visit) {
    while (next_ < parts_.size() && parts_[next_].end <= range.begin) ++next_;
    for (size_t i = next_; i < parts_.size() && parts_[i].begin < range.end; ++i) {
      visit(common_part(parts_[i], range));
    }
  }

 private:
  std::span<const AddressRange> parts_;
  size_t next_ = 0;
};

}  // namespace heaptape::base
