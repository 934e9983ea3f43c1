// model:bump, an arena (region, "pool" without reuse): each block lies after the one before, and
// freed memory is lost until the end. The cheapest placement, and an upper bound on the memory that
// an allocator can waste.
#pragma once

#include <cstdint>
#include <vector>

#include "allocators/models/block_sizes.h"
#include "allocators/models/textbook/textbook_model.h"

namespace heaptape::allocators::textbook {

class BumpHeap {
 public:
  BumpHeap(AddressSpace& space, const base::Values& options);

  static std::vector<base::Parameter> parameters();
  static BackendTraits traits() { return {.min_hole_bytes = kUnitBytes}; }
  static const char* work_unit() { return "nothing"; }

  // As TextbookHeap says. Only the block placed last grows in place; every block shrinks in place,
  // keeping its memory.
  Placement allocate(uint64_t bytes, uint64_t alignment);
  bool try_resize_in_place(uint64_t address, uint64_t bytes);
  void release(uint64_t address);
  uint64_t usable_bytes(uint64_t address) const { return sizes_.get(address); }
  uint64_t work() const { return 0; }
  void append_counters(std::vector<Counter>& counters) const;

 private:
  static constexpr uint64_t kUnitBytes = 16;

  HeapSegment segment_;
  BlockSizes sizes_;
  uint64_t next_ = HeapSegment::begin();
  uint64_t last_ = 0;  // the block placed last, dead or alive
  uint64_t lost_bytes_ = 0;
};

}  // namespace heaptape::allocators::textbook

namespace heaptape::allocators {

using BumpModel = textbook::TextbookModel<textbook::BumpHeap>;
static_assert(AllocatorModel<BumpModel>);

}  // namespace heaptape::allocators
