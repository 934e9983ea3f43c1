#include "tests/support/range_set.h"

#include <iterator>

namespace heaptape::tests {

bool RangeSet::add(base::AddressRange range) {
  auto after = ranges_.lower_bound(range.begin);
  if (after != ranges_.end() && after->first < range.end) return false;
  if (after != ranges_.begin()) {
    const auto before = std::prev(after);
    if (before->second > range.begin) return false;
    if (before->second == range.begin) {
      range.begin = before->first;
      ranges_.erase(before);
    }
  }
  if (after != ranges_.end() && after->first == range.end) {
    range.end = after->second;
    ranges_.erase(after);
  }
  ranges_.emplace(range.begin, range.end);
  return true;
}

bool RangeSet::remove(base::AddressRange range) {
  if (!contains(range)) return false;
  const auto around = std::prev(ranges_.upper_bound(range.begin));
  const auto [begin, end] = *around;
  ranges_.erase(around);
  if (begin < range.begin) ranges_.emplace(begin, range.begin);
  if (range.end < end) ranges_.emplace(range.end, end);
  return true;
}

bool RangeSet::contains(base::AddressRange range) const {
  const auto after = ranges_.upper_bound(range.begin);
  return after != ranges_.begin() && std::prev(after)->second >= range.end;
}

uint64_t RangeSet::total_bytes() const {
  uint64_t sum = 0;
  for (const auto& [begin, end] : ranges_) sum += end - begin;
  return sum;
}

}  // namespace heaptape::tests
