#include "replayer/engine/live_peaks.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace heaptape::replayer {
namespace {

template <typename Value>
std::vector<Value> take_behind(std::vector<Value>& values, size_t count) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(count);
  std::vector<Value> rest(middle, values.end());
  values.erase(middle, values.end());
  return rest;
}

// Of what is placed by the number of calls before it.
template <typename Placed>
std::vector<Placed> take_after(std::vector<Placed>& values, uint64_t event) {
  const auto first = std::ranges::upper_bound(values, event, {}, &Placed::event);
  return take_behind(values, static_cast<size_t>(first - values.begin()));
}

}  // namespace

size_t LivePeaks::find(const ResolvedBatch& batch) {
  const auto highest = std::ranges::max_element(batch.live_bytes);
  if (highest == batch.live_bytes.end()) return 0;
  if (*highest <= measured_bytes_ + measured_bytes_ / 32) return 0;
  measured_bytes_ = *highest;
  return static_cast<size_t>(highest - batch.live_bytes.begin()) + 1;
}

ResolvedBatch split_off(ResolvedBatch& batch, size_t count) {
  ResolvedBatch rest;
  rest.first_event = batch.first_event + count;
  rest.slot_limit = batch.slot_limit;
  rest.ops = take_behind(batch.ops, count);
  rest.recorded_addresses = take_behind(batch.recorded_addresses, count);
  rest.live_bytes = take_behind(batch.live_bytes, count);
  rest.samples = take_after(batch.samples, rest.first_event);
  rest.times = take_after(batch.times, rest.first_event);
  rest.thread_ends = take_after(batch.thread_ends, rest.first_event);
  rest.steering = take_after(batch.steering, rest.first_event);
  rest.next_time = batch.next_time;
  if (!rest.times.empty()) batch.next_time = rest.times.front();
  rest.live = batch.live;
  if (count != 0) batch.live.live_bytes = batch.live_bytes.back();
  return rest;
}

}  // namespace heaptape::replayer
