// From the time samples of a tape to the clock of a worker: what time each op is run at.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "allocators/backend.h"
#include "allocators/native/worker/worker_protocol.h"
#include "schema/tape/event.h"

namespace heaptape::allocators {

// An op is run at the time when it had been made on the tape, read off the line between the samples
// around it. So a pause of which both ends have a sample passes between the two ops around it, also
// if both samples are of the same event. Before the first sample the clock goes from 0; behind the
// last one that the tape reader knows it stands.
//
// How the ops are cut into batches changes nothing. One thread.
class TapeClock {
 public:
  // Consecutive batches.
  void begin(const ReplayBatch& batch);

  // Of the `count` ops of the batch from op `first` on, at most kMaxClockPoints; op numbers count
  // from `first`. `out` has room for all of them. Returns how many there are.
  uint32_t points(size_t first, size_t count, ClockPoint* out) const;

 private:
  void add(int64_t op, uint64_t time_ns);

  schema::TimeSample last_;  // that is known before the batch
  std::vector<ClockPoint> points_;
};

}  // namespace heaptape::allocators
