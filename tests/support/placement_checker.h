// Checks, event by event, every allocator's obligations in a replay: blocks that do not overlap, on
// memory that it holds.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "allocators/backend.h"
#include "base/address/region_set.h"
#include "replayer/engine/slot_resolver.h"

namespace heaptape::tests {

class PlacementChecker {
 public:
  void start(const std::vector<allocators::RegionEvent>& regions) {
    for (const auto& region : regions) apply(region);
  }

  void add(const replayer::ResolvedBatch& batch, const allocators::BatchResult& result) {
    ASSERT_EQ(result.placements.size(), batch.ops.size());
    auto region = result.regions.begin();
    for (size_t i = 0; i < batch.ops.size() && !testing::Test::HasFatalFailure(); ++i) {
      SCOPED_TRACE("event " + std::to_string(batch.first_event + i + 1));
      const bool moved = result.placements[i].address != 0;
      const auto kind = batch.ops[i].kind;
      if (kind == allocators::ReplayKind::kFree ||
          (kind == allocators::ReplayKind::kRealloc && moved)) {
        remove(batch.ops[i].slot);
      }
      for (; region != result.regions.end() && region->op <= i; ++region) apply(*region);
      if (moved) place(batch.ops[i], result.placements[i]);
    }
    ASSERT_TRUE(region == result.regions.end()) << "changes of memory out of order";
  }

  uint64_t committed_bytes() const { return committed_.bytes(); }
  uint64_t usable_bytes() const { return usable_bytes_; }
  size_t blocks() const { return ends_.size(); }

 private:
  void apply(const allocators::RegionEvent& event) {
    if (event.kind == allocators::RegionEvent::Kind::kCommit) {
      committed_.add(event.range);
      return;
    }
    committed_.remove(event.range);
    const auto after = ends_.lower_bound(event.range.end);
    ASSERT_TRUE(after == ends_.begin() || std::prev(after)->second <= event.range.begin)
        << "a live block lost its memory";
  }

  void remove(uint32_t slot) {
    const auto block = slots_.find(slot);
    if (block == slots_.end()) return;
    usable_bytes_ -= block->second.usable_bytes;
    ends_.erase(block->second.address);
    slots_.erase(block);
  }

  void place(const allocators::ReplayOp& op, const allocators::Placement& placed) {
    const uint64_t end = placed.address + placed.usable_bytes;
    ASSERT_GE(placed.usable_bytes, op.size);
    // jemalloc does not align blocks of 0 bytes.
    if (op.size != 0 && op.kind != allocators::ReplayKind::kRealloc) {
      ASSERT_EQ(placed.address % (uint64_t{1} << op.log2), 0u);
    }
    const auto after = ends_.lower_bound(end);
    ASSERT_TRUE(after == ends_.begin() || std::prev(after)->second <= placed.address)
        << "blocks overlap";
    ASSERT_TRUE(committed_.covers({placed.address, end})) << "a block outside of all regions";
    ASSERT_TRUE(slots_.emplace(op.slot, placed).second) << "the slot was in use";
    ends_.emplace(placed.address, end);
    usable_bytes_ += placed.usable_bytes;
  }

  base::RegionSet committed_;
  std::map<uint64_t, uint64_t> ends_;  // of live blocks, by address
  std::map<uint32_t, allocators::Placement> slots_;
  uint64_t usable_bytes_ = 0;
};

}  // namespace heaptape::tests
