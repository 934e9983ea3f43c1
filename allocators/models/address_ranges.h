// Lists of address ranges, as models report them.
#pragma once

#include <algorithm>
#include <vector>

#include "allocators/backend.h"

namespace heaptape::allocators {

// Ascending, those that touch as one, and without empty ones. They do not overlap.
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

}  // namespace heaptape::allocators
