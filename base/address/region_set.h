// A set of addresses as maximal ranges: the committed memory of an allocator, say.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/address/address_range.h"

namespace heaptape::base {

// Guarantees:
// - Regions never touch or overlap: ranges that touch are one region.
// - Adding what is present, or removing what is absent, changes nothing. Empty ranges are ignored.
// - bytes() is a load, and find() one comparison in the last region it found. All else is
//   logarithmic in the number of regions, plus one step for each region visited.
// One thread, even for readers: find() caches its result.
class RegionSet {
 public:
  void add(AddressRange range);
  void remove(AddressRange range);

  // The region that contains `address`; an empty range if there is none.
  AddressRange find(uint64_t address) const {
    if (address - last_hit_.begin < last_hit_.bytes()) [[likely]]
      return last_hit_;
    return look_up(address);
  }

  // Calls visit(region) for each region that overlaps or adjoins `window`, ascending. `visit` must
  // not change this set.
  template <typename Visit>
  void for_each_touching(AddressRange window, Visit visit) const {
    for (auto region = first_touching(window.begin);
         region != ends_.end() && region->first <= window.end; ++region) {
      visit(AddressRange{region->first, region->second});
    }
  }

  // Whether some, or all, addresses of `range` are in the set.
  bool overlaps(AddressRange range) const;
  bool covers(AddressRange range) const;

  uint64_t bytes() const { return bytes_; }
  std::vector<AddressRange> ranges() const;

 private:
  using Ends = std::map<uint64_t, uint64_t>;  // begin -> end

  // The first region that ends at or after `address`.
  Ends::const_iterator first_touching(uint64_t address) const;
  AddressRange look_up(uint64_t address) const;

  Ends ends_;
  uint64_t bytes_ = 0;
  mutable AddressRange last_hit_;
};

}  // namespace heaptape::base
