// Tracks the holes of a heap, exactly, through every event.
//
//   HeapMap map(4, 32);
//   map.commit({0x10000, 0x14000});
//   map.place(0x10010, 24);
//   map.place(0x11000, 100);
//   map.holes();  // one hole, 0x10030 to 0x11000; the rest of the region, from 0x11070, is its top
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/address/edge_bitmap.h"
#include "base/address/region_set.h"
#include "replayer/heap_map/hole_ledger.h"
#include "replayer/heap_map/hole_stats.h"

namespace heaptape::replayer {

using base::Edge;
using base::EdgeBitmap;

// A block occupies every granule it touches, at least one. Guarantees:
// - After every call, holes() equals a count of all gaps: nothing is estimated or late.
// - Blocks may lie outside all regions, or partly. Gaps count only inside regions, and are right
//   again when a region comes to cover blocks or ceases to.
// - A block takes two bits, and an event the same handful of steps, whatever their sizes.
// - No call fails. Overlapping blocks, and removing or resizing a block that was not placed just
//   so, are bugs of the caller: the numbers around those blocks are wrong while any of them is
//   there, and nothing else is. Blocks that share a granule also overlap: their allocator needs a
//   smaller granule.
// - Everything beyond user space (1 << 56) counts as its last granule.
//
// One thread.
class HeapMap {
 public:
  // A granule has 1 << granule_log2 bytes (3 to 6). A gap of less than min_hole_bytes is not a
  // hole.
  HeapMap(int granule_log2, uint64_t min_hole_bytes);

  // Ranges are widened to whole granules, and may overlap committed or uncommitted ones. The time
  // grows with the gaps in the changed range and with the blocks between them, 32 granules at a
  // time.
  void commit(AddressRange range);
  void decommit(AddressRange range);

  // False if it shares a granule with another block.
  bool place(uint64_t address, uint64_t usable_bytes);
  void remove(uint64_t address, uint64_t usable_bytes);
  // The block stays where it is. False as above.
  bool resize(uint64_t address, uint64_t old_usable_bytes, uint64_t new_usable_bytes);

  uint64_t granule_bytes() const { return uint64_t{1} << granule_log2_; }
  uint64_t committed_bytes() const { return regions_.bytes(); }
  // Whether any of the range is committed.
  bool holds_any_of(AddressRange range) const { return regions_.overlaps(range); }
  // Ascending; no two touch.
  std::vector<AddressRange> regions() const { return regions_.ranges(); }
  HoleStats holes() const;

  // How many bytes of holes lie in `absent`, which is ascending and without overlaps. The time
  // grows with the number of ranges, and with their contents, or with what is outside if that is
  // less than half of the memory.
  uint64_t absent_hole_bytes(std::span<const AddressRange> absent) const;

  // Calls visit(region, gap) for every gap that touches `window`, ascending; gap_kind() classifies
  // each. The time grows with the number of these gaps, of regions and, 32 granules at a time, of
  // blocks between.
  template <typename Visit>
  void for_each_gap(AddressRange window, Visit visit) const {
    visit_gaps_until(window, [&visit](AddressRange region, AddressRange gap) {
      visit(region, gap);
      return false;
    });
  }
  // The same, until visit() returns true.
  template <typename Visit>
  void visit_gaps_until(AddressRange window, Visit visit) const {
    bool is_done = false;
    regions_.for_each_touching(window, [&](AddressRange region) {
      if (is_done) return;
      const AddressRange part = base::common_part(window, region);
      Edge before = edges_.find_before(edges_.start_at(part.begin));
      while (!is_done && edges_.address_of(before) <= part.end) {
        const Edge after = edges_.find_from(before + 1);
        const AddressRange gap = gap_in(region, before, after);
        if (base::is_free_between(before, after) && gap.begin < gap.end) {
          is_done = visit(region, gap);
        }
        before = edges_.find_gap(after, edges_.start_at(part.end));
      }
    });
  }
  template <typename Visit>
  void for_each_gap(Visit visit) const {
    for_each_gap({0, base::kAddressLimit}, visit);
  }
  // Whether such a gap is counted in holes().
  bool is_hole(AddressRange region, AddressRange gap) const;

  // Every hole, ascending, found by reading the whole map: tests check holes() against it. The two
  // share only the definition of a hole.
  std::vector<AddressRange> scan_holes() const;

 private:
  uint64_t hole_bytes_in(std::span<const AddressRange> ranges) const;

  // The granules a block occupies, as its first and last edge.
  struct Block {
    Edge start;
    Edge end;
  };

  Block block_at(uint64_t address, uint64_t usable_bytes) const;
  AddressRange whole_granules(AddressRange range) const;
  // Both edges are there, and none between them.
  bool is_whole(Block block) const;
  AddressRange gap_in(AddressRange region, Edge before, Edge after) const {
    return base::common_part({edges_.address_of(before), edges_.address_of(after)}, region);
  }

  // A gap came or went.
  void account(AddressRange region, AddressRange gap, Change change);
  // A block inside `region` came or went.
  void account_block(AddressRange region, Block block, EdgeBitmap::Gap around, Change change);
  // The general way: removes all gaps that touch `window` from the account, calls edit(), and adds
  // the gaps there are then. `edit` must change nothing outside.
  template <typename Edit>
  void rework(AddressRange window, Edit edit);
  // The range that an edit of `block` can change: its own, unless blocks overlap there.
  AddressRange window_around(Block block, bool overlaps) const;

  int granule_log2_;
  uint64_t min_hole_bytes_;
  uint64_t top_bytes_ = 0;
  EdgeBitmap edges_;
  base::RegionSet regions_;
  HoleLedger ledger_;
};

}  // namespace heaptape::replayer
