#include "allocators/models/free_extents.h"

#include <iterator>

#include "allocators/models/model.h"
#include "base/check.h"

namespace heaptape::allocators {

void FreeExtents::insert(AddressRange range) {
  const auto after = by_address_.lower_bound(range.begin);
  if (after != by_address_.begin()) {
    const auto before = std::prev(after);
    HEAPTAPE_CHECK(before->second <= range.begin);
    if (before->second == range.begin) {
      range.begin = before->first;
      remove(before);
    }
  }
  if (after != by_address_.end()) {
    HEAPTAPE_CHECK(range.end <= after->first);
    if (after->first == range.end) {
      range.end = after->second;
      remove(after);
    }
  }
  add(range);
}

uint64_t FreeExtents::take_best(uint64_t bytes, uint64_t alignment, uint64_t slack_bytes) {
  const auto best = by_size_.lower_bound({bytes + slack_bytes, 0});
  if (best == by_size_.end()) return 0;
  const uint64_t address = round_up(best->second, alignment);
  cut(by_address_.find(best->second), {address, address + bytes});
  return address;
}

uint64_t FreeExtents::take_lowest(uint64_t bytes, uint64_t alignment) {
  for (auto extent = by_address_.begin(); extent != by_address_.end(); ++extent) {
    const uint64_t address = round_up(extent->first, alignment);
    if (address > extent->second || extent->second - address < bytes) continue;
    cut(extent, {address, address + bytes});
    return address;
  }
  return 0;
}

uint64_t FreeExtents::take_highest(uint64_t bytes, uint64_t alignment) {
  for (auto extent = by_address_.end(); extent != by_address_.begin();) {
    --extent;
    if (extent->second - extent->first < bytes) continue;
    const uint64_t address = round_down(extent->second - bytes, alignment);
    if (address < extent->first) continue;
    cut(extent, {address, address + bytes});
    return address;
  }
  return 0;
}

bool FreeExtents::take(AddressRange range) {
  if (range.begin >= range.end) return true;
  const auto after = by_address_.upper_bound(range.begin);
  if (after == by_address_.begin() || std::prev(after)->second < range.end) return false;
  cut(std::prev(after), range);
  return true;
}

void FreeExtents::add(AddressRange range) {
  if (range.begin == range.end) return;
  by_address_.emplace(range.begin, range.end);
  by_size_.emplace(range.bytes(), range.begin);
  total_bytes_ += range.bytes();
}

void FreeExtents::remove(ByAddress::iterator extent) {
  const uint64_t bytes = extent->second - extent->first;
  by_size_.erase({bytes, extent->first});
  by_address_.erase(extent);
  total_bytes_ -= bytes;
}

void FreeExtents::cut(ByAddress::iterator extent, AddressRange taken) {
  const AddressRange whole{extent->first, extent->second};
  HEAPTAPE_CHECK(whole.begin <= taken.begin && taken.end <= whole.end);
  remove(extent);
  add({whole.begin, taken.begin});
  add({taken.end, whole.end});
}

}  // namespace heaptape::allocators
