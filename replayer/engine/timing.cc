#include "replayer/engine/timing.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "allocators/replay_op.h"
#include "replayer/engine/batch_source.h"

namespace heaptape::replayer {
namespace {

using base::Result;
using base::Status;

struct Window {
  ResolvedBatch ops;
  std::span<const Action> actions = {};  // to be done behind them, as are ops.steering before
  bool begins_range = false;             // likewise, before the actions: see AfterBatch
  PlannedBatch read;                     // kept for its memory
  uint64_t last_time_ns = 0;             // of all times so far
};

// Puts `batch` behind the ops of `window`.
void append(const ResolvedBatch& batch, Window& window) {
  ResolvedBatch& all = window.ops;
  if (all.ops.empty()) {
    all.first_event = batch.first_event;
  } else if (!all.next_time) {
    // As TapeClock has it, time stands still up to the end of a batch with no time behind it.
    all.times.push_back({batch.first_event, window.last_time_ns});
  }
  all.slot_limit = batch.slot_limit;
  all.next_time = batch.next_time;
  std::ranges::copy(batch.ops, std::back_inserter(all.ops));
  std::ranges::copy(batch.times, std::back_inserter(all.times));
  std::ranges::copy(batch.thread_ends, std::back_inserter(all.thread_ends));
  for (const schema::TimeSample& time : batch.times) {
    window.last_time_ns = std::max(window.last_time_ns, time.time_ns);
  }
}

// Reads until the window is full, or something is to be done with the allocator, or the end.
Status read_window(BatchSource& source, Window& window) {
  window.ops.ops.clear();
  window.ops.times.clear();
  window.ops.thread_ends.clear();
  window.ops.steering.clear();
  while (window.ops.ops.size() + kBatchEvents <= allocators::kMaxBatchOps) {
    HEAPTAPE_ASSIGN_OR_RETURN(const bool is_there, source.next(window.read));
    if (!is_there) break;
    append(window.read.ops, window);
    window.actions = window.read.after.actions;
    window.ops.steering = window.read.ops.steering;
    window.begins_range = window.read.after.begins_range;
    if (!window.actions.empty() || !window.ops.steering.empty() || window.begins_range) break;
  }
  return {};
}

// One allocator. Once it has failed, nothing more happens to it.
class TimedRun {
 public:
  explicit TimedRun(std::unique_ptr<allocators::Backend> backend) : backend_(std::move(backend)) {}

  Status start() { return settle(backend_->start()); }
  bool has_failed() const { return !backend_; }

  Status take(const Window& window) {
    if (!backend_) return {};
    HEAPTAPE_RETURN_IF_ERROR(settle(backend_->submit({.first_event = window.ops.first_event,
                                                      .slot_limit = window.ops.slot_limit,
                                                      .ops = window.ops.ops,
                                                      .times = window.ops.times,
                                                      .next_time = window.ops.next_time,
                                                      .thread_ends = window.ops.thread_ends})));
    if (!backend_) return {};
    HEAPTAPE_RETURN_IF_ERROR(settle(backend_->collect(result_)));
    time_.replay_ns += result_.elapsed_ns;
    for (size_t i = 0; i < window.ops.steering.size() && backend_; ++i) {
      HEAPTAPE_RETURN_IF_ERROR(settle(backend_->steer(window.ops.steering[i])));
    }
    if (window.begins_range && backend_) {
      time_.replay_ns = 0;
      backend_->forget_latencies();
    }
    for (size_t i = 0; i < window.actions.size() && backend_; ++i) {
      HEAPTAPE_RETURN_IF_ERROR(settle(backend_->give_back_memory()));
    }
    return {};
  }

  ReplayTime finish() {
    if (backend_) {
      time_.latencies = backend_->latencies();
      time_.stamp_ns = backend_->stamp_ns();
    }
    return std::move(time_);
  }

 private:
  // Notes a failure of the allocator; passes every other error on.
  template <typename Outcome>
  Status settle(const Outcome& outcome) {
    if (outcome.ok()) return {};
    const base::Error& error = outcome.error();
    if (error.code != base::ErrorCode::kTarget) return error;
    time_.failure = {error.event.value_or(0), error.message + " (in the replay for times)"};
    time_.output = backend_->output();
    backend_.reset();
    return {};
  }

  std::unique_ptr<allocators::Backend> backend_;  // null once it has failed
  allocators::BatchResult result_;
  ReplayTime time_;
};

}  // namespace

Result<std::vector<ReplayTime>> time_replays(schema::TapeReader& tape, const ReplayOptions& options,
                                             const std::function<void(double)>& progress) {
  std::vector<TimedRun> runs;
  for (const allocators::BackendSpec& spec : options.specs) {
    runs.emplace_back(spec.make({.header = &tape.header(),
                                 .touch = options.touch,
                                 .threads = options.threads,
                                 .clock = options.clock,
                                 .answers = allocators::Answers::kNone,
                                 .steer = options.steer}));
    HEAPTAPE_RETURN_IF_ERROR(runs.back().start());
  }
  const uint64_t events = std::min(tape.events(), options.until);
  const DeathTimes deaths;
  BatchSource source(tape, events, options, deaths);
  Window window;
  window.ops.ops.reserve(std::min<uint64_t>(events, allocators::kMaxBatchOps));
  for (uint64_t done = 0; !std::ranges::all_of(runs, &TimedRun::has_failed);) {
    HEAPTAPE_RETURN_IF_ERROR(read_window(source, window));
    for (TimedRun& run : runs) HEAPTAPE_RETURN_IF_ERROR(run.take(window));
    done += window.ops.ops.size();
    if (progress && events != 0) {
      progress(static_cast<double>(done) / static_cast<double>(events));
    }
    if (done == events) break;
  }
  std::vector<ReplayTime> times;
  for (TimedRun& run : runs) times.push_back(run.finish());
  return times;
}

}  // namespace heaptape::replayer
