#include "replayer/engine/batch_source.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <unordered_set>
#include <utility>

namespace heaptape::replayer {
namespace {

using base::Result;
using base::Status;

// Replaces `batch` with at most `max_events` that follow the `done` first ones. What was seen of
// the process behind the last event of the tape comes with it.
Status read_next(schema::TapeReader& tape, size_t max_events, uint64_t done,
                 schema::EventBatch& batch) {
  HEAPTAPE_RETURN_IF_ERROR(tape.read(batch, max_events));
  if (done + batch.events.size() < tape.events()) {
    if (!batch.events.empty() || max_events == 0) return {};
    return base::Error::damaged("'" + tape.path() + "' ends after " + std::to_string(done) +
                                " of its " + std::to_string(tape.events()) + " events");
  }
  schema::EventBatch rest;
  HEAPTAPE_RETURN_IF_ERROR(tape.read(rest, 1));
  std::ranges::move(rest.samples, std::back_inserter(batch.samples));
  std::ranges::move(rest.times, std::back_inserter(batch.times));
  std::ranges::move(rest.thread_ends, std::back_inserter(batch.thread_ends));
  std::ranges::move(rest.steering, std::back_inserter(batch.steering));
  return {};
}

}  // namespace

BatchSource::BatchSource(schema::TapeReader& tape, uint64_t events, const ReplayOptions& options,
                         const DeathTimes& deaths, const SlotResolver::Slots& inherited)
    : tape_(tape),
      before_(options.from - 1),
      events_(events),
      looks_first_(options.looks_first),
      steer_(options.steer),
      deaths_(deaths),
      beginning_(options.beginning),
      plan_(events, options.samples, options.actions, options.moments, before_),
      resolver_(events),
      facts_(tape.header()) {
  facts_.note_beginning(tape.late_ns(), tape.inherited_problem(),
                        tape.inherited_blocks() - tape.joined_blocks());
  resolver_.begin_with(inherited);
  const auto peak = std::ranges::find(options.moments, "peak", &Moment::name);
  if (peak != options.moments.end()) resolver_.keep_live_after(peak->event);
  if (beginning_ != nullptr) done_ = beginning_->event - beginning_->blocks.size();
}

// The next blocks of the keyframe. Its sample stands before them, so that each finds the heap
// there, and behind them, as on the tape: live blocks are not committed where the sample lacks
// them.
void BatchSource::read_beginning(size_t max_events) {
  const size_t left = beginning_->event - done_;
  const auto rest = std::span(beginning_->blocks).last(left);
  const auto next = rest.first(std::min(max_events, left));
  read_ = {};
  read_.events.assign(next.begin(), next.end());
  if (!beginning_->sample) return;
  const auto add_sample = [this](uint64_t event) {
    read_.samples.push_back(*beginning_->sample);
    read_.samples.back().event = event;
  };
  if (left == beginning_->blocks.size()) add_sample(done_);
  if (left == next.size()) add_sample(beginning_->event);
}

Status BatchSource::read(ResolvedBatch& batch) {
  const size_t room = std::min<uint64_t>(kBatchEvents, plan_.room(done_));
  if (beginning_ != nullptr && done_ < beginning_->event) {
    read_beginning(room);
  } else {
    HEAPTAPE_RETURN_IF_ERROR(read_next(tape_, room, done_, read_));
  }
  facts_.note(read_);
  HEAPTAPE_RETURN_IF_ERROR(resolver_.resolve(read_.events, done_, batch));
  batch.births.clear();
  if (before_ != 0 && done_ + batch.ops.size() == before_) {
    if (beginning_ != nullptr) batch.births = beginning_->births;
    resolver_.begin_range(before_);
    batch.live = resolver_.live().values();
  }
  batch.samples = std::move(read_.samples);
  batch.times = std::move(read_.times);
  batch.next_time = read_.next_time;
  batch.thread_ends = std::move(read_.thread_ends);
  shared_numbers_.filter(batch.thread_ends);
  batch.steering = std::move(read_.steering);
  if (steer_ == allocators::Steer::kOff) batch.steering.clear();
  return {};
}

// The allocator is steered between batches. A thread that ends there ends after what it steered.
void BatchSource::cut_where_steered(ResolvedBatch& batch) {
  for (size_t left = batch.steering.size(); left > 0;) {
    const uint64_t event = batch.steering[left - 1].event;
    std::unordered_set<uint32_t> threads;  // that steer there
    for (; left > 0 && batch.steering[left - 1].event == event; --left) {
      threads.insert(batch.steering[left - 1].thread);
    }
    ResolvedBatch rest = split_off(batch, event - std::min(event, batch.first_event));
    const auto first =
        std::ranges::lower_bound(batch.thread_ends, event, {}, &schema::ThreadEnd::event);
    const auto late = std::stable_partition(
        first, batch.thread_ends.end(),
        [&](const schema::ThreadEnd& end) { return !threads.contains(end.thread); });
    rest.thread_ends.insert(rest.thread_ends.begin(), late, batch.thread_ends.end());
    batch.thread_ends.erase(late, batch.thread_ends.end());
    if (!rest.ops.empty() || !rest.thread_ends.empty()) rests_.push_back(std::move(rest));
  }
}

Result<bool> BatchSource::next(PlannedBatch& planned) {
  if (has_begun_ && done_ == events_ && rests_.empty()) return false;
  has_begun_ = true;
  ResolvedBatch& batch = planned.ops;
  if (rests_.empty()) {
    HEAPTAPE_RETURN_IF_ERROR(read(batch));
    cut_where_steered(batch);
  } else {
    batch = std::move(rests_.back());
    rests_.pop_back();
  }
  const size_t peak = done_ < before_ ? 0 : live_peaks_.find(batch);
  if (peak != 0 && peak < batch.ops.size()) rests_.push_back(split_off(batch, peak));
  if (batch.ops.empty()) batch.live = live_;
  live_ = batch.live;
  batch.deaths = deaths_.for_batch(batch);
  done_ += batch.ops.size();
  planned.done = done_;
  planned.ends_a_step = rests_.empty();
  planned.after = plan_.reached(done_);
  planned.after.has_live_peak = peak != 0;
  planned.after.looks_first = looks_first_;
  clock_.note(batch.times, batch.next_time);
  planned.after.time_ns = clock_.at(done_);
  return true;
}

void BatchSource::finish() {
  facts_.note(resolver_);
  resolver_.finish();
}

}  // namespace heaptape::replayer
