// model:buddy, the binary buddy system (Knowlton, "A Fast Storage Allocator", 1965; Knuth, volume
// 1, section 2.5, algorithms R and S): blocks of 2^k bytes at multiples of 2^k, split in halves on
// the way down and joined with their buddies on the way up. Free lists are last in, first out. Tags
// are stored apart, so that a block has all its bytes.
//
// The textbook's system ends at its largest order. Here a larger request takes a run of adjacent
// largest blocks (UnitRuns), which no buddy system has but every program needs.
#pragma once

#include <cstdint>
#include <vector>

#include "allocators/models/address_table.h"
#include "allocators/models/textbook/textbook_model.h"
#include "allocators/models/textbook/unit_runs.h"

namespace heaptape::allocators::textbook {

class BuddyHeap {
 public:
  BuddyHeap(AddressSpace& space, const base::Values& options);

  static std::vector<base::Parameter> parameters();
  static BackendTraits traits() { return {.min_hole_bytes = 16}; }
  static const char* work_unit() { return "splits and merges"; }

  // As TextbookHeap says. A block stays where it is while its order does not change.
  Placement allocate(uint64_t bytes, uint64_t alignment);
  bool try_resize_in_place(uint64_t address, uint64_t bytes);
  void release(uint64_t address);
  uint64_t usable_bytes(uint64_t address) const;
  uint64_t work() const { return splits_ + merges_; }
  void append_counters(std::vector<Counter>& counters) const;

 private:
  static constexpr int kOrderLimit = 48;

  struct FreeBlock {
    uint64_t address;
    uint32_t before;  // in the list of its order; 0 if none
    uint32_t behind;
  };

  int order_for(uint64_t bytes) const;
  uint64_t allocate_order(int order);
  uint64_t allocate_largest(int order);
  void push(uint64_t address, int order);
  uint64_t pop(int order);
  void unlink(uint32_t node, int order);

  int least_order_;
  int largest_order_;
  UnitRuns largest_blocks_;
  WordTable<4> tags_;             // of each block, at its address
  std::vector<FreeBlock> nodes_;  // of all lists; 0 is none
  std::vector<uint32_t> spare_nodes_;
  uint32_t lists_[kOrderLimit] = {};  // by order: the first
  uint64_t nonempty_ = 0;             // bit k: list k has a block
  uint64_t splits_ = 0;
  uint64_t merges_ = 0;
};

}  // namespace heaptape::allocators::textbook

namespace heaptape::allocators {

using BuddyModel = textbook::TextbookModel<textbook::BuddyHeap>;
static_assert(AllocatorModel<BuddyModel>);

}  // namespace heaptape::allocators
