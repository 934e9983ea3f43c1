#include "allocators/models/textbook/bump_heap.h"

#include <algorithm>

namespace heaptape::allocators::textbook {

BumpHeap::BumpHeap(AddressSpace& space, const base::Values& options)
    : segment_(space, options["grow_bytes"]) {}

std::vector<base::Parameter> BumpHeap::parameters() {
  return {grow_parameter(64 << 10)};
}

Placement BumpHeap::allocate(uint64_t bytes, uint64_t alignment) {
  const uint64_t block_bytes = std::max(round_up(bytes, kUnitBytes), kUnitBytes);
  const uint64_t address = round_up(next_, std::max(alignment, kUnitBytes));
  if (!segment_.reach(address + block_bytes)) return {};
  next_ = address + block_bytes;
  last_ = address;
  sizes_.insert(address, block_bytes);
  return {address, block_bytes};
}

bool BumpHeap::try_resize_in_place(uint64_t address, uint64_t bytes) {
  uint64_t& usable = sizes_[address];
  if (bytes <= usable) return true;
  const uint64_t block_bytes = round_up(bytes, kUnitBytes);
  if (address != last_ || !segment_.reach(address + block_bytes)) return false;
  usable = block_bytes;
  next_ = address + block_bytes;
  return true;
}

void BumpHeap::release(uint64_t address) {
  lost_bytes_ += sizes_.get(address);
  sizes_.erase(address);
}

void BumpHeap::append_counters(std::vector<Counter>& counters) const {
  counters.push_back({"lostBytes", lost_bytes_});
  segment_.append_counters(counters);
}

}  // namespace heaptape::allocators::textbook
