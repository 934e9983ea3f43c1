// The committed memory of an allocator as maximal runs of addresses. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "schema/event.h"

namespace heaptape::replayer {

using schema::AddressRange;

// Ranges that touch are one region. Committing what is committed, or decommitting what is not,
// changes nothing. Empty ranges are ignored.
class RegionSet {
 public:
  void commit(AddressRange range);
  void decommit(AddressRange range);

  // The region that holds `address`; an empty range if there is none.
  AddressRange find(uint64_t address) const {
    if (address - last_hit_.begin < last_hit_.bytes()) [[likely]]
      return last_hit_;
    return look_up(address);
  }

  // Calls visit(region) for each region that shares an address with `window` or ends where it
  // begins or begins where it ends, ascending. `visit` must not change this set.
  template <typename Visit>
  void for_each_touching(AddressRange window, Visit visit) const {
    for (auto region = first_touching(window.begin);
         region != ends_.end() && region->first <= window.end; ++region) {
      visit(AddressRange{region->first, region->second});
    }
  }

  uint64_t committed_bytes() const { return committed_bytes_; }
  std::vector<AddressRange> ranges() const;

 private:
  using Ends = std::map<uint64_t, uint64_t>;  // begin -> end

  // The first region that ends at or after `address`.
  Ends::const_iterator first_touching(uint64_t address) const;
  AddressRange look_up(uint64_t address) const;

  Ends ends_;
  uint64_t committed_bytes_ = 0;
  mutable AddressRange last_hit_;
};

}  // namespace heaptape::replayer
