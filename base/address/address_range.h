// Addresses and address ranges.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace heaptape::base {

// Above every address of a process: five-level paging ends user space at 1 << 56.
inline constexpr uint64_t kAddressLimit = uint64_t{1} << 57;

// Half-open range of addresses.
struct AddressRange {
  uint64_t begin = 0;
  uint64_t end = 0;

  uint64_t bytes() const { return end - begin; }
  bool operator==(const AddressRange&) const = default;
};

// Empty if there is none.
inline AddressRange common_part(AddressRange a, AddressRange b) {
  const uint64_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

// Sorts the ranges, joins those that touch and drops empty ones. They must not overlap.
inline void sort_and_join(std::vector<AddressRange>& ranges) {
  std::ranges::sort(ranges, {}, &AddressRange::begin);
  size_t count = 0;
  for (const AddressRange& range : ranges) {
    if (range.begin == range.end) continue;
    if (count != 0 && ranges[count - 1].end == range.begin) {
      ranges[count - 1].end = range.end;
    } else {
      ranges[count++] = range;
    }
  }
  ranges.resize(count);
}

}  // namespace heaptape::base
