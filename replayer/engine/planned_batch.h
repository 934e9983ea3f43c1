// Consecutive calls of a replay, and what is to be done behind them.
#pragma once

#include <cstdint>

#include "replayer/engine/replay_plan.h"
#include "replayer/engine/slot_resolver.h"

namespace heaptape::replayer {

struct PlannedBatch {
  ResolvedBatch ops;
  AfterBatch after;          // to be done after them; its spans are of the source
  uint64_t done = 0;         // calls up to its end
  bool ends_a_step = false;  // false: it is the first part of what was to be one
};

}  // namespace heaptape::replayer
