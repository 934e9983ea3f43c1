// A value for each address of some ranges: who mapped which memory, say.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

#include "base/address/address_range.h"

namespace heaptape::base {

// Guarantees:
// - Ranges never overlap, and none is empty. Ranges that touch and have equal values are one.
// - assign() replaces what was there; erase() of what is absent changes nothing.
// - All is logarithmic in the number of ranges, plus one step for each range replaced or visited.
// One thread.
template <typename Value>
class RangeMap {
 public:
  void assign(AddressRange range, Value value) {
    if (range.begin >= range.end) return;
    erase(range);
    auto after = parts_.lower_bound(range.begin);
    if (after != parts_.end() && after->first == range.end && after->second.value == value) {
      range.end = after->second.end;
      after = parts_.erase(after);
    }
    if (after != parts_.begin()) {
      Part& before = std::prev(after)->second;
      if (before.end == range.begin && before.value == value) {
        before.end = range.end;
        return;
      }
    }
    parts_.emplace_hint(after, range.begin, Part{range.end, std::move(value)});
  }

  void erase(AddressRange range) {
    if (range.begin >= range.end) return;
    split(range.begin);
    split(range.end);
    parts_.erase(parts_.lower_bound(range.begin), parts_.lower_bound(range.end));
  }

  // Erases all parts that have an address in `range`, whole: never adds one.
  void erase_parts(AddressRange range) {
    auto part = parts_.upper_bound(range.begin);
    if (part != parts_.begin() && std::prev(part)->second.end > range.begin) --part;
    while (part != parts_.end() && part->first < range.end) part = parts_.erase(part);
  }

  // Calls visit(part, value) for each part of `window` that has a value, ascending. `visit` must
  // not change this map.
  template <typename Visit>
  void for_each_in(AddressRange window, Visit visit) const {
    auto part = parts_.upper_bound(window.begin);
    if (part != parts_.begin() && std::prev(part)->second.end > window.begin) --part;
    for (; part != parts_.end() && part->first < window.end; ++part) {
      visit(common_part(window, {part->first, part->second.end}), part->second.value);
    }
  }

  size_t size() const { return parts_.size(); }

 private:
  struct Part {
    uint64_t end;
    Value value;
  };

  // So that none has `address` inside.
  void split(uint64_t address) {
    const auto after = parts_.lower_bound(address);
    if (after == parts_.begin()) return;
    Part& before = std::prev(after)->second;
    if (before.end <= address) return;
    parts_.emplace_hint(after, address, Part{before.end, before.value});
    before.end = address;
  }

  std::map<uint64_t, Part> parts_;  // by where they begin
};

}  // namespace heaptape::base
