#include "allocators/models/textbook/ideal_heap.h"

namespace heaptape::allocators::textbook {

bool IdealHeap::try_set_live_bytes(uint64_t live_bytes) {
  if (!segment_.reach(HeapSegment::begin() + live_bytes)) return false;
  segment_.shrink(HeapSegment::begin() + live_bytes);
  live_bytes_ = live_bytes;
  return true;
}

Placement IdealHeap::allocate(uint64_t bytes, uint64_t) {
  if (!try_set_live_bytes(live_bytes_ + bytes)) return {};
  uint64_t number = blocks_.size();
  if (spare_numbers_.empty()) {
    blocks_.push_back(bytes);
  } else {
    number = spare_numbers_.back();
    spare_numbers_.pop_back();
    blocks_[number] = bytes;
  }
  return {kModelBase + number * kApart, bytes};
}

bool IdealHeap::try_resize_in_place(uint64_t address, uint64_t bytes) {
  uint64_t& had = blocks_[number_of(address)];
  if (!try_set_live_bytes(live_bytes_ - had + bytes)) return false;
  had = bytes;
  return true;
}

void IdealHeap::release(uint64_t address) {
  const uint64_t number = number_of(address);
  try_set_live_bytes(live_bytes_ - blocks_[number]);
  spare_numbers_.push_back(number);
}

}  // namespace heaptape::allocators::textbook
