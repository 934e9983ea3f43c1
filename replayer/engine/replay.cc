#include "replayer/engine/replay.h"

#include <algorithm>
#include <array>
#include <memory>
#include <thread>
#include <utility>

#include "replayer/engine/ahead.h"
#include "replayer/engine/batch_source.h"
#include "replayer/engine/foresight.h"
#include "replayer/engine/repeats.h"
#include "replayer/engine/replay_run.h"

namespace heaptape::replayer {
namespace {

using base::Result;
using base::Status;

// Keeps one allocator at work while the answers of the one before are analysed: two processors are
// busy, and no two allocators ever run at the same time, which would spoil both their times.
class Pipeline {
 public:
  Status submit(ReplayRun& run, const ResolvedBatch& batch, AfterBatch after) {
    if (pending_ != nullptr) HEAPTAPE_RETURN_IF_ERROR(pending_->collect());
    // Between two batches of one allocator there may be something to do with it.
    const bool overlap = pending_ != &run || after_pending_.is_nothing();
    if (!overlap) HEAPTAPE_RETURN_IF_ERROR(finish_pending());
    ReplayRun* const before = std::exchange(pending_, &run);
    const ResolvedBatch* const batch_before = std::exchange(pending_batch_, &batch);
    const AfterBatch after_before = std::exchange(after_pending_, after);
    HEAPTAPE_RETURN_IF_ERROR(run.submit(batch));
    if (!overlap || before == nullptr) return {};
    return finish(*before, *batch_before, after_before);
  }

  Status drain() {
    if (pending_ == nullptr) return {};
    HEAPTAPE_RETURN_IF_ERROR(pending_->collect());
    return finish_pending();
  }

 private:
  static Status finish(ReplayRun& run, const ResolvedBatch& batch, AfterBatch after) {
    HEAPTAPE_RETURN_IF_ERROR(run.analyse(batch));
    if (after.looks_first) HEAPTAPE_RETURN_IF_ERROR(run.look(after.moments));
    for (const Action& action : after.actions) HEAPTAPE_RETURN_IF_ERROR(run.perform(action));
    if (!after.looks_first) HEAPTAPE_RETURN_IF_ERROR(run.look(after.moments));
    if (after.has_sample) return run.sample(after.time_ns);
    return after.has_live_peak ? run.measure_peak() : Status();
  }
  Status finish_pending() {
    ReplayRun* const run = std::exchange(pending_, nullptr);
    return finish(*run, *pending_batch_, after_pending_);
  }

  ReplayRun* pending_ = nullptr;  // submitted, not yet analysed
  const ResolvedBatch* pending_batch_ = nullptr;
  AfterBatch after_pending_;
};

using Runs = std::vector<std::unique_ptr<ReplayRun>>;

// Whether reading and resolving may have a processor while allocators and the analysis have theirs.
bool may_read_ahead(const Runs& runs) {
  const bool has_worker =
      std::ranges::any_of(runs, [](const auto& run) { return run->has_worker(); });
  return std::thread::hardware_concurrency() > (has_worker ? 2u : 1u);
}

// Submits what next() gives, a PlannedBatch or null, to all runs. The batch before stays as it is.
template <typename Next>
Status submit_all(const Runs& runs, Next next) {
  Pipeline pipeline;
  const auto has_failed = [](const auto& run) { return run->has_failed(); };
  while (!std::ranges::all_of(runs, has_failed)) {
    HEAPTAPE_ASSIGN_OR_RETURN(const PlannedBatch* batch, next());
    if (batch == nullptr) break;
    for (const auto& run : runs) {
      HEAPTAPE_RETURN_IF_ERROR(pipeline.submit(*run, batch->ops, batch->after));
    }
  }
  return pipeline.drain();
}

Status submit_all(BatchSource& source, const Runs& runs,
                  const std::function<void(double)>& progress) {
  constexpr size_t kKept = 2;  // one is analysed while the other is worked on
  constexpr size_t kAhead = 2;
  const auto tell = [&](const PlannedBatch& batch) {
    if (!progress || batch.done == 0 || !batch.ends_a_step) return;
    progress(static_cast<double>(batch.done) / static_cast<double>(source.events()));
  };
  if (may_read_ahead(runs)) {
    Ahead<PlannedBatch> ahead({.items = kKept + kAhead, .kept = kKept},
                              [&source](PlannedBatch& batch) { return source.next(batch); });
    return submit_all(runs, [&]() -> Result<const PlannedBatch*> {
      HEAPTAPE_ASSIGN_OR_RETURN(const PlannedBatch* batch, ahead.next());
      if (batch != nullptr) tell(*batch);
      return batch;
    });
  }
  std::array<PlannedBatch, kKept> batches;
  return submit_all(runs, [&, turn = size_t{0}]() mutable -> Result<const PlannedBatch*> {
    PlannedBatch& batch = batches[turn++ % kKept];
    HEAPTAPE_ASSIGN_OR_RETURN(const bool is_there, source.next(batch));
    if (is_there) tell(batch);
    return is_there ? &batch : nullptr;
  });
}

Result<std::vector<RunResult>> replay_once(schema::TapeReader& tape, const ReplayOptions& options,
                                           const std::function<void(double)>& progress) {
  const uint64_t events = std::min(tape.events(), options.until);
  HEAPTAPE_RETURN_IF_ERROR(check_actions(options.actions, events));
  Runs runs;
  for (const allocators::BackendSpec& spec : options.specs) {
    HEAPTAPE_ASSIGN_OR_RETURN(
        auto run,
        ReplayRun::start(spec, {&tape.header(), options.touch, options.threads, options.clock},
                         options));
    runs.push_back(std::move(run));
  }
  HEAPTAPE_ASSIGN_OR_RETURN(const DeathTimes deaths, rehearse(tape, events, runs));
  BatchSource source(tape, events, options, deaths);
  HEAPTAPE_RETURN_IF_ERROR(submit_all(source, runs, progress));
  source.finish();
  const auto program = std::make_shared<const ProgramProfile>(source.resolver().program());
  std::vector<RunResult> results;
  for (const auto& run : runs) {
    results.push_back(run->finish(source.resolver(), events, options, source.facts()));
    if (!run->has_failed()) results.back().program = program;
  }
  return results;
}

}  // namespace

Result<std::vector<RunResult>> replay(schema::TapeReader& tape, const ReplayOptions& options,
                                      const std::function<void(double)>& progress) {
  std::vector<std::vector<RunResult>> repeats(options.specs.size());  // by spec
  for (uint32_t pass = 0; pass < options.repeats; ++pass) {
    ReplayOptions again = options;
    std::vector<size_t> taking_part;  // what is timed and has not failed, but for the first pass
    again.specs.clear();
    for (size_t i = 0; i < repeats.size(); ++i) {
      if (pass != 0 && (!options.specs[i].is_timed() || repeats[i].back().failure)) continue;
      taking_part.push_back(i);
      again.specs.push_back(options.specs[i]);
    }
    if (again.specs.empty()) break;
    if (pass != 0) HEAPTAPE_RETURN_IF_ERROR(tape.seek(0));
    HEAPTAPE_ASSIGN_OR_RETURN(auto results, replay_once(tape, again, [&](double share) {
                                if (progress) progress((pass + share) / options.repeats);
                              }));
    for (size_t i = 0; i < results.size(); ++i) {
      repeats[taking_part[i]].push_back(std::move(results[i]));
    }
  }
  std::vector<RunResult> merged;
  for (auto& runs : repeats) merged.push_back(merge_repeats(std::move(runs)));
  return merged;
}

}  // namespace heaptape::replayer
