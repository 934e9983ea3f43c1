// Consecutive calls of a replay, and what is to be done behind them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "replayer/engine/replay_plan.h"
#include "replayer/engine/slot_resolver.h"

namespace heaptape::replayer {

// Small enough that ops, placements and the blocks' metadata stay in the second-level cache.
inline constexpr size_t kBatchEvents = 1 << 14;

struct PlannedBatch {
  ResolvedBatch ops;
  // To be done after them: ops.steering, all of it, and then this, whose spans are of the source.
  AfterBatch after;
  uint64_t done = 0;         // calls up to its end
  bool ends_a_step = false;  // false: it is a part, but not the last, of what was to be one

  // Whether the allocator may go on before the batch is analysed.
  bool lets_go_on() const { return after.lets_go_on() && ops.steering.empty(); }
};

}  // namespace heaptape::replayer
