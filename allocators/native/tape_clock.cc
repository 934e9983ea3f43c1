#include "allocators/native/tape_clock.h"

#include <algorithm>

namespace heaptape::allocators {

// Only the first and last samples of an event matter: when it came, and when the next began.
// Falling time, which no recorder writes, counts as standing still.
void TapeClock::add(int64_t op, uint64_t time_ns) {
  if (!points_.empty()) time_ns = std::max(time_ns, points_.back().time_ns);
  const size_t count = points_.size();
  if (count >= 2 && points_[count - 1].op == op && points_[count - 2].op == op) points_.pop_back();
  points_.push_back({op, time_ns});
}

void TapeClock::begin(const ReplayBatch& batch) {
  // Op number i is done when `first_event + i + 1` calls have been made.
  const auto op_of = [&batch](uint64_t event) {
    return static_cast<int64_t>(event - batch.first_event) - 1;
  };
  const uint64_t end = batch.first_event + batch.ops.size();
  points_.clear();
  add(op_of(last_.event), last_.time_ns);
  for (const schema::TimeSample& sample : batch.times) {
    add(op_of(sample.event), sample.time_ns);
    last_ = {sample.event, points_.back().time_ns};
  }
  if (batch.next_time) {
    add(op_of(batch.next_time->event), batch.next_time->time_ns);
  } else {
    last_.event = std::max(last_.event, end);
  }
}

uint32_t TapeClock::points(size_t first, size_t count, ClockPoint* out) const {
  const auto begin = static_cast<int64_t>(first);
  const auto end = static_cast<int64_t>(first + count);
  // The last point before the first op, the first one at or after the last op, and all in between.
  auto from = std::ranges::lower_bound(points_, begin, {}, &ClockPoint::op);
  if (from != points_.begin()) --from;
  auto to = std::ranges::lower_bound(points_, end - 1, {}, &ClockPoint::op);
  if (to != points_.end()) ++to;
  uint32_t copied = 0;
  for (; from < to && copied < kMaxClockPoints; ++from) {
    out[copied++] = {from->op - begin, from->time_ns};
  }
  return copied;
}

}  // namespace heaptape::allocators
