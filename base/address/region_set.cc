#include "base/address/region_set.h"

#include <algorithm>
#include <iterator>

namespace heaptape::base {

void RegionSet::add(AddressRange range) {
  if (range.begin >= range.end) return;
  last_hit_ = {};
  auto region = first_touching(range.begin);
  while (region != ends_.end() && region->first <= range.end) {
    bytes_ -= region->second - region->first;
    range = {std::min(range.begin, region->first), std::max(range.end, region->second)};
    region = ends_.erase(region);
  }
  ends_.emplace_hint(region, range.begin, range.end);
  bytes_ += range.bytes();
}

void RegionSet::remove(AddressRange range) {
  if (range.begin >= range.end) return;
  last_hit_ = {};
  auto region = first_touching(range.begin);
  while (region != ends_.end() && region->first < range.end) {
    const AddressRange old = {region->first, region->second};
    region = ends_.erase(region);
    bytes_ -= old.bytes();
    const auto keep = [&](uint64_t begin, uint64_t end) {
      if (begin >= end) return;
      ends_.emplace_hint(region, begin, end);
      bytes_ += end - begin;
    };
    keep(old.begin, std::min(old.end, range.begin));
    keep(std::max(old.begin, range.end), old.end);
  }
}

bool RegionSet::overlaps(AddressRange range) const {
  if (range.begin >= range.end) return false;
  const auto next = ends_.lower_bound(range.end);
  return next != ends_.begin() && std::prev(next)->second > range.begin;
}

bool RegionSet::covers(AddressRange range) const {
  return range.begin >= range.end || find(range.begin).end >= range.end;
}

std::vector<AddressRange> RegionSet::ranges() const {
  std::vector<AddressRange> ranges;
  ranges.reserve(ends_.size());
  for (const auto& [begin, end] : ends_) ranges.push_back({begin, end});
  return ranges;
}

RegionSet::Ends::const_iterator RegionSet::first_touching(uint64_t address) const {
  auto region = ends_.upper_bound(address);
  if (region != ends_.begin() && std::prev(region)->second >= address) --region;
  return region;
}

AddressRange RegionSet::look_up(uint64_t address) const {
  const auto next = ends_.upper_bound(address);
  if (next == ends_.begin()) return {};
  const auto region = std::prev(next);
  if (region->second <= address) return {};
  last_hit_ = {region->first, region->second};
  return last_hit_;
}

}  // namespace heaptape::base
