// Where a replay measures resident memory between the samples of the timeline: where live bytes
// are highest. A block that comes and goes between two samples would not be seen otherwise, however
// long the program kept it: samples go by the number of calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "replayer/engine/slot_resolver.h"

namespace heaptape::replayer {

class LivePeaks {
 public:
  // After how many ops of `batch` to measure; 0: nowhere. Live bytes are highest there, and a 32nd
  // above all that was measured before: a heap that doubles is measured 23 times.
  size_t find(const ResolvedBatch& batch);

 private:
  uint64_t measured_bytes_ = 0;
};

// Takes off `batch` what follows its first `count` ops, and returns it. Of `live`, the first part
// has live_bytes alone.
ResolvedBatch split_off(ResolvedBatch& batch, size_t count);

}  // namespace heaptape::replayer
