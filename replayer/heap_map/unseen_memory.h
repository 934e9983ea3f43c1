// Memory of a heap that no recorded call has handed out or given back: of a recording that began
// later than its program. docs/metrics.md, "Unseen memory".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/address/region_set.h"
#include "replayer/heap_map/heap_map.h"

namespace heaptape::replayer {

// Each stretch is in the map like a block, so that gaps end there. Guarantees:
// - No stretch shares a granule with a block, and no two stretches touch.
// - What remains beside a block handed out, and is too small for any other, is no longer unseen.
// - Nothing that the map lacks costs more than a test whether this is empty.
// The map outlives this. One thread.
class UnseenMemory {
 public:
  UnseenMemory(HeapMap& map, uint64_t min_hole_bytes)
      : map_(map), min_hole_bytes_(min_hole_bytes) {}

  // Committed memory: what is free in it, according to the map, is not known to be.
  void add(AddressRange range);
  // Before that block is placed, or grows to this size.
  void hand_out(uint64_t address, uint64_t usable_bytes) {
    if (stretches_.bytes() != 0) [[unlikely]]
      uncover(address, usable_bytes);
  }
  // Memory that is no longer committed.
  void give_back(AddressRange range);

  uint64_t bytes() const { return stretches_.bytes(); }
  std::vector<AddressRange> ranges() const { return stretches_.ranges(); }
  // Whether a stretch ends where the gap begins, or begins where it ends.
  bool is_beside(AddressRange gap) const;

 private:
  void uncover(uint64_t address, uint64_t usable_bytes);
  // Takes the stretches that touch `window` out of the map, calls change(), and puts back those
  // that are there then.
  template <typename Edit>
  void rework(AddressRange window, Edit change);

  HeapMap& map_;
  const uint64_t min_hole_bytes_;
  base::RegionSet stretches_;
};

// Which sides of a gap border on one of `ranges`, which are ascending and no two of which touch.
struct UnseenSides {
  bool before = false;
  bool after = false;
  bool any() const { return before || after; }
};
UnseenSides unseen_sides(std::span<const AddressRange> ranges, AddressRange gap);

}  // namespace heaptape::replayer
