// model:segregated, simple segregated storage (Wilson et al., 1995, section 3.6): blocks of one
// size class share pages, a page never changes its class, and nothing is joined. A page that a
// class gets is put on the class's free list at once, in address order; the list is last in, first
// out. Blocks of more than half a page take whole pages by best fit.
#pragma once

#include <cstdint>
#include <vector>

#include "allocators/models/address_table.h"
#include "allocators/models/textbook/size_classes.h"
#include "allocators/models/textbook/textbook_model.h"
#include "allocators/models/textbook/unit_runs.h"

namespace heaptape::allocators::textbook {

class SegregatedHeap {
 public:
  SegregatedHeap(AddressSpace& space, const base::Values& options);

  static std::vector<base::Parameter> parameters();
  static BackendTraits traits() { return {.min_hole_bytes = kLeastClassBytes}; }
  static const char* work_unit() { return "blocks threaded"; }

  // As TextbookHeap says. A small block stays where it is while its class stays the same; a large
  // one if it shrinks and stays large, or if free pages follow it.
  Placement allocate(uint64_t bytes, uint64_t alignment);
  bool try_resize_in_place(uint64_t address, uint64_t bytes);
  void release(uint64_t address);
  uint64_t usable_bytes(uint64_t address) const;
  uint64_t work() const { return blocks_threaded_; }
  void append_counters(std::vector<Counter>& counters) const;

 private:
  // The unused rest of the newest page is a separate list, in address order.
  struct Class {
    std::vector<uint64_t> freed;
    uint64_t next = 0;  // of that page: the first never used
    uint64_t left = 0;  // how many are left there
  };

  Placement allocate_small(uint32_t size_class);
  Placement allocate_large(uint64_t bytes, uint64_t alignment);
  bool is_small(uint64_t bytes) const { return bytes <= pages_.unit_bytes() / 2; }
  uint64_t page_of(uint64_t address) const { return round_down(address, pages_.unit_bytes()); }

  UnitRuns pages_;
  WordTable<kPageLog2> owners_;  // of each page in use, at its address
  std::vector<Class> classes_;
  uint64_t pages_claimed_ = 0;
  uint64_t blocks_threaded_ = 0;
};

}  // namespace heaptape::allocators::textbook

namespace heaptape::allocators {

using SegregatedModel = textbook::TextbookModel<textbook::SegregatedHeap>;
static_assert(AllocatorModel<SegregatedModel>);

}  // namespace heaptape::allocators
