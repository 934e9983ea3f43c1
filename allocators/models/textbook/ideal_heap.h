// model:ideal, the perfect compactor: at every moment the live blocks are contiguous, without
// headers or rounding, and the memory they take is rounded up to whole pages. No allocator that
// holds these blocks can commit less.
//
// A block's address only identifies the block, which could move at any call: the model places no
// blocks (BackendTraits::places_blocks), and only its committed memory is meaningful.
#pragma once

#include <cstdint>
#include <vector>

#include "allocators/models/textbook/textbook_model.h"

namespace heaptape::allocators::textbook {

class IdealHeap {
 public:
  IdealHeap(AddressSpace& space, const base::Values&) : segment_(space, kPageBytes), blocks_(1) {}

  static std::vector<base::Parameter> parameters() { return {}; }
  static BackendTraits traits() { return {.places_blocks = false, .min_hole_bytes = 16}; }
  static const char* work_unit() { return "nothing"; }

  // As TextbookHeap says.
  Placement allocate(uint64_t bytes, uint64_t alignment);
  bool try_resize_in_place(uint64_t address, uint64_t bytes);
  void release(uint64_t address);
  uint64_t usable_bytes(uint64_t address) const { return blocks_[number_of(address)]; }
  uint64_t work() const { return 0; }
  void append_counters(std::vector<Counter>&) const {}

 private:
  static constexpr uint64_t kApart = 16;  // between the addresses of two blocks

  static uint64_t number_of(uint64_t address) { return (address - kModelBase) / kApart; }
  bool try_set_live_bytes(uint64_t live_bytes);

  HeapSegment segment_;
  uint64_t live_bytes_ = 0;
  std::vector<uint64_t> blocks_;  // by number: bytes; 0 is none
  std::vector<uint64_t> spare_numbers_;
};

}  // namespace heaptape::allocators::textbook

namespace heaptape::allocators {

using IdealModel = textbook::TextbookModel<textbook::IdealHeap>;
static_assert(AllocatorModel<IdealModel>);

}  // namespace heaptape::allocators
