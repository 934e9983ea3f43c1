// Runs of equal units (pages of a class, largest blocks of a buddy system) cut from the segment of
// a heap by best fit, the lowest of equals, and joined again when freed.
#pragma once

#include <cstdint>

#include "allocators/models/free_extents.h"
#include "allocators/models/textbook/heap_segment.h"

namespace heaptape::allocators::textbook {

class UnitRuns {
 public:
  // `unit_bytes` is a power of two and at least a page. The heap grows by units or, if more, by
  // `grow_bytes`. `trim_bytes`: free bytes at the end of the heap that are given back; 0: never.
  UnitRuns(AddressSpace& space, uint64_t unit_bytes, uint64_t grow_bytes, uint64_t trim_bytes);

  uint64_t unit_bytes() const { return unit_bytes_; }

  // A run with room for `bytes`, at a multiple of `alignment`, a power of two; 0 if there is no
  // room. `rule`: why the heap grows if none is free.
  uint64_t allocate(uint64_t bytes, uint64_t alignment, const CommitRule& rule);
  void release(AddressRange run);
  // Gives the run of `old_bytes` at `address` `bytes` instead, if the space it needs is free.
  bool try_resize_in_place(uint64_t address, uint64_t old_bytes, uint64_t bytes);
  // The size of a run for `bytes`.
  uint64_t run_bytes(uint64_t bytes) const { return round_up(bytes, unit_bytes_); }

  void append_counters(std::vector<Counter>& counters) const { segment_.append_counters(counters); }

 private:
  bool grow(uint64_t bytes, const CommitRule& rule);

  uint64_t unit_bytes_;
  uint64_t trim_bytes_;
  HeapSegment segment_;
  FreeExtents free_;
};

}  // namespace heaptape::allocators::textbook
