// Turns the time samples of a tape into the clock of a worker: the time at which each op is run.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "allocators/backend.h"
#include "allocators/native/worker/worker_protocol.h"
#include "schema/tape/event.h"

namespace heaptape::allocators {

// An op is run at the time when its call on the tape had been made, interpolated between the
// samples around it. So a pause with a sample at each end passes between the two ops around it,
// even if both samples are of the same event. The clock runs from 0 to the first sample; after the
// last one that the tape reader knows, it stands still.
//
// How the ops are cut into batches changes nothing. One thread.
class TapeClock {
 public:
  // Batches must be consecutive.
  void begin(const ReplayBatch& batch);

  // Writes the points for the `count` ops of the batch from op `first` on to `out`, which has room
  // for kMaxClockPoints, and returns their number. Op numbers count from `first`.
  uint32_t points(size_t first, size_t count, ClockPoint* out) const;

 private:
  void add(int64_t op, uint64_t time_ns);

  schema::TimeSample last_;  // known before the batch
  std::vector<ClockPoint> points_;
};

}  // namespace heaptape::allocators
