#include "replayer/engine/replay.h"

#include <algorithm>
#include <array>
#include <memory>
#include <thread>
#include <utility>

#include "base/check.h"
#include "replayer/engine/ahead.h"
#include "replayer/engine/batch_source.h"
#include "replayer/engine/foresight.h"
#include "replayer/engine/history.h"
#include "replayer/engine/repeats.h"
#include "replayer/engine/replay_run.h"
#include "replayer/engine/side_by_side.h"
#include "replayer/engine/timing.h"

namespace heaptape::replayer {
namespace {

using base::Result;
using base::Status;

constexpr double kShareOfMemory = 0.7;  // of the progress, that of the replay for memory

// Keeps one allocator at work while the answers of the one before are analysed: two processors are
// busy, and no two allocators ever run at the same time.
class Pipeline {
 public:
  Status submit(ReplayRun& run, const PlannedBatch& batch) {
    if (run_ != nullptr) HEAPTAPE_RETURN_IF_ERROR(run_->collect(*batch_));
    // Between two batches of one allocator there may be something to do with it.
    const bool overlap = run_ != &run || batch_->lets_go_on();
    if (!overlap) HEAPTAPE_RETURN_IF_ERROR(complete());
    ReplayRun* const run_before = std::exchange(run_, &run);
    const PlannedBatch* const batch_before = std::exchange(batch_, &batch);
    HEAPTAPE_RETURN_IF_ERROR(run.submit(batch));
    if (!overlap || run_before == nullptr) return {};
    return run_before->complete(*batch_before);
  }

  Status drain() {
    if (run_ == nullptr) return {};
    HEAPTAPE_RETURN_IF_ERROR(run_->collect(*batch_));
    return complete();
  }

 private:
  Status complete() { return std::exchange(run_, nullptr)->complete(*batch_); }

  ReplayRun* run_ = nullptr;  // submitted, not yet completed
  const PlannedBatch* batch_ = nullptr;
};

using Runs = std::vector<std::unique_ptr<ReplayRun>>;

// Whether reading and resolving may have a processor while allocators and the analysis have theirs.
bool may_read_ahead(const Runs& runs) {
  const bool has_worker =
      std::ranges::any_of(runs, [](const auto& run) { return run->has_worker(); });
  return std::thread::hardware_concurrency() > (has_worker ? 2u : 1u);
}

bool have_all_failed(const Runs& runs) {
  return std::ranges::all_of(runs, [](const auto& run) { return run->has_failed(); });
}

// Takes all runs through what next() gives, a PlannedBatch or null. The batch before stays as it
// is.
template <typename Next>
Status replay_in_turn(const Runs& runs, Next next) {
  Pipeline pipeline;
  while (!have_all_failed(runs)) {
    HEAPTAPE_ASSIGN_OR_RETURN(const PlannedBatch* batch, next());
    if (batch == nullptr) break;
    for (const auto& run : runs) HEAPTAPE_RETURN_IF_ERROR(pipeline.submit(*run, *batch));
  }
  return pipeline.drain();
}

// Hands the batches of a source to runs. One thread.
class Feed {
 public:
  Feed(BatchSource& source, const std::function<void(double)>& progress)
      : source_(source), progress_(progress) {}

  Status in_turn(const Runs& runs) {
    constexpr size_t kKept = 2;  // one is analysed while the other is worked on
    constexpr size_t kAhead = 2;
    if (may_read_ahead(runs)) {
      Ahead<PlannedBatch> ahead({.items = kKept + kAhead, .kept = kKept}, reading());
      return replay_in_turn(runs, [&] { return next(ahead); });
    }
    std::array<PlannedBatch, kKept> batches;
    return replay_in_turn(runs, [&, turn = size_t{0}]() mutable -> Result<const PlannedBatch*> {
      PlannedBatch& batch = batches[turn++ % kKept];
      HEAPTAPE_ASSIGN_OR_RETURN(const bool is_there, source_.next(batch));
      if (is_there) tell(batch);
      return is_there ? &batch : nullptr;
    });
  }

  // So many batches at a time that threads seldom wait for one another, and that what a run keeps
  // in the processor's caches is of use to it.
  Status side_by_side(const Runs& runs, size_t jobs) {
    constexpr size_t kTogether = 8;
    Ahead<PlannedBatch> ahead({.items = 2 * kTogether, .kept = kTogether}, reading());
    for (std::vector<const PlannedBatch*> batches; !have_all_failed(runs); batches.clear()) {
      Status status;
      while (batches.size() < kTogether) {
        const auto batch = next(ahead);
        if (!batch.ok()) status = batch.error();
        if (!batch.ok() || *batch == nullptr) break;
        batches.push_back(*batch);
      }
      HEAPTAPE_RETURN_IF_ERROR(replay_side_by_side(runs, batches, jobs));
      if (!status.ok() && !have_all_failed(runs)) return status;
      if (batches.size() < kTogether) break;
    }
    return {};
  }

 private:
  Ahead<PlannedBatch>::Make reading() {
    return [this](PlannedBatch& batch) { return source_.next(batch); };
  }
  Result<const PlannedBatch*> next(Ahead<PlannedBatch>& ahead) {
    HEAPTAPE_ASSIGN_OR_RETURN(const PlannedBatch* batch, ahead.next());
    if (batch != nullptr) tell(*batch);
    return batch;
  }
  void tell(const PlannedBatch& batch) {
    if (!progress_ || batch.done == 0 || !batch.ends_a_step) return;
    progress_(static_cast<double>(batch.done) / static_cast<double>(source_.events()));
  }

  BatchSource& source_;
  const std::function<void(double)>& progress_;
};

Result<std::vector<RunResult>> replay_once(schema::TapeReader& tape, const ReplayOptions& options,
                                           const std::function<void(double)>& progress) {
  const uint64_t events = std::min(tape.events(), options.until);
  HEAPTAPE_CHECK(options.from == 1 || options.from <= events);
  HEAPTAPE_CHECK(options.beginning == nullptr || options.beginning->event + 1 == options.from);
  HEAPTAPE_RETURN_IF_ERROR(check_actions(options.actions, events, options.from - 1));
  Runs runs;
  for (const allocators::BackendSpec& spec : options.specs) {
    HEAPTAPE_ASSIGN_OR_RETURN(auto run, ReplayRun::start(spec,
                                                         {.header = &tape.header(),
                                                          .touch = options.touch,
                                                          .threads = options.threads,
                                                          .clock = options.clock,
                                                          .steer = options.steer,
                                                          .began_late = tape.late_ns() != 0},
                                                         options, events));
    runs.push_back(std::move(run));
  }
  HEAPTAPE_ASSIGN_OR_RETURN(const DeathTimes deaths, rehearse(tape, events, runs));
  HEAPTAPE_ASSIGN_OR_RETURN(const auto inherited, replay_history(tape, runs, options.steer));
  if (options.beginning != nullptr) HEAPTAPE_RETURN_IF_ERROR(tape.seek(options.beginning->event));
  BatchSource source(tape, events, options, deaths, inherited);
  Feed feed(source, progress);
  HEAPTAPE_RETURN_IF_ERROR(options.jobs > 1 ? feed.side_by_side(runs, options.jobs)
                                            : feed.in_turn(runs));
  source.finish();
  const auto program = std::make_shared<const ProgramProfile>(source.resolver().program());
  std::vector<RunResult> results;
  for (const auto& run : runs) {
    results.push_back(run->finish(source.resolver(), events, options, source.facts()));
    if (!run->has_failed()) results.back().program = program;
  }
  return results;
}

// Measures the times of those `results` that have any, and puts them there.
Status add_times(schema::TapeReader& tape, const ReplayOptions& options,
                 std::vector<RunResult>& results, const std::function<void(double)>& progress) {
  ReplayOptions timed_options = options;
  timed_options.specs.clear();
  std::vector<RunResult*> timed;
  for (RunResult& result : results) {
    if (!result.spec.is_timed() || result.failure) continue;
    timed_options.specs.push_back(result.spec);
    timed.push_back(&result);
  }
  if (timed.empty()) return {};
  HEAPTAPE_RETURN_IF_ERROR(tape.seek(0));
  HEAPTAPE_ASSIGN_OR_RETURN(auto times, time_replays(tape, timed_options, progress));
  for (size_t i = 0; i < timed.size(); ++i) {
    RunResult& result = *timed[i];
    if (times[i].failure) {
      result = {.spec = result.spec, .failure = times[i].failure, .output = times[i].output};
      continue;
    }
    RunMetrics& metrics = result.metrics;
    metrics.replay_ns = metrics.replay_ns_min = metrics.replay_ns_max = times[i].replay_ns;
    metrics.stamp_ns = times[i].stamp_ns;
    metrics.latencies.clear();
    for (const auto& latency : times[i].latencies) {
      metrics.latencies.push_back({latency, latency, latency});
    }
  }
  return {};
}

}  // namespace

Result<std::vector<RunResult>> replay(schema::TapeReader& tape, const ReplayOptions& options,
                                      const std::function<void(double)>& progress) {
  std::vector<std::vector<RunResult>> repeats(options.specs.size());  // by spec
  for (uint32_t pass = 0; pass < options.repeats; ++pass) {
    ReplayOptions again = options;
    std::vector<size_t> taking_part;  // what is timed and has not failed, but for the first pass
    again.specs.clear();
    again.keep_film = options.keep_film && pass == 0;
    for (size_t i = 0; i < repeats.size(); ++i) {
      if (pass != 0 && (!options.specs[i].is_timed() || repeats[i].back().failure)) continue;
      taking_part.push_back(i);
      again.specs.push_back(options.specs[i]);
    }
    if (again.specs.empty()) break;
    if (pass != 0) HEAPTAPE_RETURN_IF_ERROR(tape.seek(0));
    const bool takes_times =
        options.times && options.jobs == 1 &&
        std::ranges::any_of(again.specs, [](const auto& spec) { return spec.is_timed(); });
    const double share_of_memory = takes_times ? kShareOfMemory : 1;
    const auto show = [&](double done) {
      if (progress) progress((pass + done) / options.repeats);
    };
    HEAPTAPE_ASSIGN_OR_RETURN(auto results, replay_once(tape, again, [&](double share) {
                                show(share * share_of_memory);
                              }));
    if (takes_times) {
      HEAPTAPE_RETURN_IF_ERROR(add_times(tape, again, results, [&](double share) {
        show(share_of_memory + share * (1 - share_of_memory));
      }));
    }
    for (size_t i = 0; i < results.size(); ++i) {
      repeats[taking_part[i]].push_back(std::move(results[i]));
    }
  }
  std::vector<RunResult> merged;
  for (auto& runs : repeats) merged.push_back(merge_repeats(std::move(runs)));
  return merged;
}

}  // namespace heaptape::replayer
