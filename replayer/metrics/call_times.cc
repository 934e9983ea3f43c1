#include "replayer/metrics/call_times.h"

#include <algorithm>

namespace heaptape::replayer {

void CallTimes::begin(uint64_t first_event, size_t count, std::span<const schema::TimeSample> times,
                      const std::optional<schema::TimeSample>& next_time) {
  points_.assign(1, last_);
  for (const schema::TimeSample& sample : times) add(sample);
  last_ = points_.back();
  if (next_time) {
    add(*next_time);
  } else {
    last_.event = std::max(last_.event, first_event + count);
  }
  at_ = 0;
  measure();
}

void CallTimes::add(schema::TimeSample sample) {
  sample.time_ns = std::clamp(sample.time_ns, points_.back().time_ns, kLastNs);
  points_.push_back(sample);
  known_ |= sample.event != 0;
}

void CallTimes::step() {
  ++at_;
  measure();
}

void CallTimes::measure() {
  ns_per_call_ = 0;
  if (at_ + 1 == points_.size() || points_[at_].event == points_[at_ + 1].event) return;
  ns_per_call_ = static_cast<double>(points_[at_ + 1].time_ns - points_[at_].time_ns) /
                 static_cast<double>(points_[at_ + 1].event - points_[at_].event);
}

}  // namespace heaptape::replayer
