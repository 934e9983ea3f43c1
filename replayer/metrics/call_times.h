// When each call of a tape was made. docs/metrics.md, "Sizes and lifetimes".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "schema/tape/event.h"

namespace heaptape::replayer {

// A call's time is interpolated between the time samples around it, as in a replay
// (docs/decisions/0018-clock.md): before the first sample the clock runs from 0, and after the last
// one that the tape reader knows it stands still. A sample earlier than the previous one counts as
// equal to it. One thread.
class CallTimes {
 public:
  // The next `count` calls, after `first_event` others, with what the tape reader gave with them.
  void begin(uint64_t first_event, size_t count, std::span<const schema::TimeSample> times,
             const std::optional<schema::TimeSample>& next_time);

  // In ns since the recording began, for call number `event`, from 1. Only forward in the batch.
  uint64_t time_of(uint64_t event) {
    while (at_ + 1 < points_.size() && points_[at_ + 1].event < event) step();
    const schema::TimeSample& before = points_[at_];
    if (event <= before.event) [[unlikely]]  // a damaged tape has samples ahead of their calls
      return before.time_ns;
    return before.time_ns +
           static_cast<uint64_t>(static_cast<double>(event - before.event) * ns_per_call_);
  }
  // Whether there was any sample so far, except before the first call.
  bool are_known() const { return known_; }

 private:
  static constexpr uint64_t kLastNs = uint64_t{1} << 62;  // a later time does not fit a double

  void add(schema::TimeSample sample);
  void step();
  void measure();

  std::vector<schema::TimeSample> points_;
  size_t at_ = 0;  // the point after which calls are made
  double ns_per_call_ = 0;
  schema::TimeSample last_;  // last known before the batch
  bool known_ = false;
};

}  // namespace heaptape::replayer
