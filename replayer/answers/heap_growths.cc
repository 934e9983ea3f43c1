#include "replayer/answers/heap_growths.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace heaptape::replayer {

using base::AddressRange;

void HeapGrowth::add(AddressRange committed, const std::string& its_rule) {
  ranges.push_back(committed);
  if (!rule.empty() && !its_rule.empty()) rule += "; ";
  rule += its_rule;
}

void HeapGrowths::add(HeapGrowth growth) {
  if (growths_.size() == most_) growths_.pop_back();
  const auto place = std::ranges::upper_bound(growths_, growth.growth_bytes, std::greater(),
                                              &HeapGrowth::growth_bytes);
  growths_.insert(place, std::move(growth));
}

void HeapGrowths::note_given_back(AddressRange range, uint64_t event) {
  for (HeapGrowth& growth : growths_) {
    const auto overlaps = [range](const AddressRange& held) {
      return held.begin < range.end && range.begin < held.end;
    };
    if (std::ranges::none_of(growth.ranges, overlaps)) continue;
    std::vector<AddressRange> left;
    for (const AddressRange& held : growth.ranges) {
      const AddressRange gone = base::common_part(held, range);
      if (gone.bytes() == 0) {
        left.push_back(held);
        continue;
      }
      if (held.begin < gone.begin) left.push_back({held.begin, gone.begin});
      if (gone.end < held.end) left.push_back({gone.end, held.end});
    }
    growth.ranges = std::move(left);
    if (growth.ranges.empty()) growth.given_back_at = event;
  }
}

}  // namespace heaptape::replayer
