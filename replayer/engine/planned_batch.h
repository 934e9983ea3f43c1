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
  AfterBatch after;          // to be done after them; its spans are of the source
  uint64_t done = 0;         // calls up to its end
  bool ends_a_step = false;  // false: it is the first part of what was to be one
};

}  // namespace heaptape::replayer
