// Address ranges that do not overlap, joined if they touch.
#pragma once

#include <cstdint>
#include <map>

#include "base/address/address_range.h"

namespace heaptape::tests {

class RangeSet {
 public:
  // False, with no change, if a part of it is already present.
  bool add(base::AddressRange range);
  // False, with no change, unless all of it is present.
  bool remove(base::AddressRange range);
  bool contains(base::AddressRange range) const;
  uint64_t total_bytes() const;

 private:
  std::map<uint64_t, uint64_t> ranges_;  // begin -> end
};

}  // namespace heaptape::tests
