#include "replayer/engine/replay.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/number_text.h"
#include "replayer/engine/live_peaks.h"
#include "replayer/engine/repeats.h"
#include "replayer/engine/replay_plan.h"
#include "replayer/engine/run_analysis.h"
#include "replayer/engine/run_notes.h"
#include "replayer/engine/slot_resolver.h"

namespace heaptape::replayer {
namespace {

using base::Result;
using base::Status;

// Large enough that an allocator's working set is warm for most of its turn, small enough that ops,
// placements and the blocks' metadata stay in the second-level cache.
constexpr size_t kBatchEvents = 1 << 14;

// One allocator in the course of a replay. Once it has failed nothing more happens to it.
class Run {
 public:
  static Result<std::unique_ptr<Run>> start(const allocators::BackendSpec& spec,
                                            const allocators::BackendContext& context) {
    std::unique_ptr<Run> run(new Run(spec, context));
    auto regions = run->backend_->start();
    if (!regions.ok()) {
      HEAPTAPE_RETURN_IF_ERROR(run->settle(regions.error()));
      return run;
    }
    run->analysis_.emplace(run->backend_->traits(), context.header->initial_break);
    run->analysis_->start(*regions);
    return run;
  }

  bool has_failed() const { return failure_.has_value(); }

  Status submit(const ResolvedBatch& batch) {
    if (has_failed()) return {};
    return settle(
        backend_->submit({batch.first_event, batch.slot_limit, batch.ops, batch.recorded_addresses,
                          batch.samples, batch.times, batch.next_time, batch.thread_ends}));
  }
  Status collect() { return has_failed() ? Status() : settle(backend_->collect(result_)); }
  Status analyse(const ResolvedBatch& batch) {
    return has_failed() ? Status() : settle(analysis_->add(batch, result_));
  }

  Status sample() {
    if (has_failed()) return {};
    const auto residency = backend_->residency(analysis_->regions());
    if (!residency.ok()) return settle(residency.error());
    analysis_->sample(*residency);
    return {};
  }

  Status measure_peak() {
    if (has_failed()) return {};
    const auto residency = backend_->residency(analysis_->regions());
    if (!residency.ok()) return settle(residency.error());
    analysis_->note_resident(residency->resident_bytes);
    return {};
  }

  // What a program does with malloc_trim, say; memory is measured right before and right after.
  Status perform(const Action& action) {
    if (has_failed()) return {};
    const auto before = backend_->residency(analysis_->regions());
    if (!before.ok()) return settle(before.error());
    const auto given_back = backend_->give_back_memory();
    if (!given_back.ok()) return settle(given_back.error());
    if (!*given_back) {
      cannot_give_back_ = true;
      return {};
    }
    ActionResult& result = analysis_->perform(action.name, *before, **given_back);
    const auto after = backend_->residency(analysis_->regions());
    if (!after.ok()) return settle(after.error());
    result.after.resident_bytes = after->resident_bytes;
    return {};
  }

  RunResult finish(const SlotResolver& resolver, uint64_t events, const ReplayOptions& options,
                   const TapeFacts& facts) {
    RunResult result{spec_};
    result.failure = failure_;
    if (has_failed()) {
      result.output = output_;
      return result;
    }
    result.metrics = analysis_->take_metrics();
    result.metrics.accounting.recorded = events;
    result.metrics.accounting.failed_calls = resolver.skipped().failed_calls;
    result.metrics.accounting.unknown_frees = resolver.skipped().unknown_frees;
    result.metrics.live_count_peak = resolver.live().live_count_peak();
    result.metrics.live_bytes_peak = resolver.live().live_bytes_peak();
    result.metrics.threads = backend_->threads();
    result.metrics.counters = backend_->counters();
    for (const auto& latency : backend_->latencies()) {
      result.metrics.latencies.push_back({latency, latency, latency});
    }
    result.metrics.stamp_ns = backend_->stamp_ns();
    result.metrics.replay_ns_min = result.metrics.replay_ns_max = result.metrics.replay_ns;
    for (const auto& curve : backend_->growth()) {
      result.metrics.growth.push_back(fit_growth(curve));
    }
    const RunFacts run{.threads = result.metrics.threads,
                       .touch = options.touch,
                       .clock = options.clock,
                       .resident_bytes_peak = result.metrics.resident_bytes_peak.value,
                       .resident_bytes_at_end = result.metrics.end.resident_bytes,
                       .compared_blocks = result.metrics.compared_blocks,
                       .same_offset_share = result.metrics.same_offset_share,
                       .purged_bytes = purged_bytes(result.metrics.counters)};
    result.metrics.incomparable = why_incomparable(spec_, run, facts);
    result.notes = run_notes(spec_, run, facts);
    std::ranges::move(backend_->notes(), std::back_inserter(result.notes));
    if (cannot_give_back_) {
      result.notes.push_back("it cannot be asked to give memory back: --do changes nothing here");
    }
    if (result.metrics.misaligned_blocks != 0) {
      result.notes.push_back(base::grouped(result.metrics.misaligned_blocks) +
                             " blocks aligned to less than the program asked, the first at #" +
                             base::grouped(result.metrics.first_misaligned));
    }
    result.output = backend_->output();
    if (!result.output.empty()) {
      result.notes.emplace_back("it printed something: -o REPORT puts that into REPORT.LABEL.log");
    }
    return result;
  }

 private:
  Run(allocators::BackendSpec spec, const allocators::BackendContext& context)
      : spec_(std::move(spec)), backend_(spec_.make(context)) {}

  // Notes a failure of the allocator; passes every other error on. A failed allocator gives back
  // its memory at once.
  Status settle(const Status& status) {
    if (status.ok() || status.error().code != base::ErrorCode::kTarget) return status;
    failure_ = {status.error().event.value_or(0), status.error().message};
    output_ = backend_->output();
    backend_.reset();
    analysis_.reset();
    return {};
  }

  allocators::BackendSpec spec_;
  std::unique_ptr<allocators::Backend> backend_;
  std::optional<RunAnalysis> analysis_;
  allocators::BatchResult result_;
  std::optional<RunFailure> failure_;
  bool cannot_give_back_ = false;
  std::string output_;  // of a failed allocator
};

// Keeps one allocator at work while the answers of the one before are analysed: two processors are
// busy, and no two allocators ever run at the same time, which would spoil both their times.
class Pipeline {
 public:
  Status submit(Run& run, const ResolvedBatch& batch, AfterBatch after) {
    if (pending_ != nullptr) HEAPTAPE_RETURN_IF_ERROR(pending_->collect());
    // Between two batches of one allocator there may be something to do with it.
    const bool overlap = pending_ != &run || after_pending_.is_nothing();
    if (!overlap) HEAPTAPE_RETURN_IF_ERROR(finish_pending());
    Run* const before = std::exchange(pending_, &run);
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
  static Status finish(Run& run, const ResolvedBatch& batch, AfterBatch after) {
    HEAPTAPE_RETURN_IF_ERROR(run.analyse(batch));
    for (const Action& action : after.actions) HEAPTAPE_RETURN_IF_ERROR(run.perform(action));
    if (after.has_sample) return run.sample();
    return after.has_live_peak ? run.measure_peak() : Status();
  }
  Status finish_pending() {
    Run* const run = std::exchange(pending_, nullptr);
    return finish(*run, *pending_batch_, after_pending_);
  }

  Run* pending_ = nullptr;  // submitted, not yet analysed
  const ResolvedBatch* pending_batch_ = nullptr;
  AfterBatch after_pending_;
};

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
  return {};
}

// Leaves out the ends of threads that share their number in ReplayOp with an older one that lives:
// its cache is not to go.
class SharedNumbers {
 public:
  void filter(std::vector<schema::ThreadEnd>& ends) {
    std::erase_if(ends, [this](const schema::ThreadEnd& end) {
      constexpr uint32_t kNumbers = uint32_t{UINT16_MAX} + 1;
      return ++ended_[end.thread % kNumbers] <= end.thread / kNumbers;
    });
  }

 private:
  std::unordered_map<uint32_t, uint32_t> ended_;  // by number, how many of those that share it
};

Result<std::vector<RunResult>> replay_once(schema::TapeReader& tape, const ReplayOptions& options,
                                           const std::function<void(double)>& progress) {
  const uint64_t events = std::min(tape.events(), options.until);
  HEAPTAPE_RETURN_IF_ERROR(check_actions(options.actions, events));
  std::vector<std::unique_ptr<Run>> runs;
  for (const allocators::BackendSpec& spec : options.specs) {
    HEAPTAPE_ASSIGN_OR_RETURN(auto run, Run::start(spec, {&tape.header(), options.touch,
                                                          options.threads, options.clock}));
    runs.push_back(std::move(run));
  }
  SlotResolver resolver;
  TapeFacts facts(tape.header());
  ReplayPlan plan(events, options.samples, options.actions);
  SharedNumbers shared_numbers;
  Pipeline pipeline;
  LivePeaks live_peaks;
  schema::EventBatch read;
  std::array<ResolvedBatch, 2> batches;  // one is analysed while the other is worked on
  ResolvedBatch rest;                    // read already, and yet to come
  uint64_t done = 0;
  const auto all_failed = [&runs] {
    return std::ranges::all_of(runs, [](const auto& run) { return run->has_failed(); });
  };
  // Once for a tape without events.
  for (size_t turn = 0; (done < events || turn == 0) && !all_failed(); ++turn) {
    ResolvedBatch& batch = batches[turn % batches.size()];
    if (!rest.ops.empty()) {
      batch = std::exchange(rest, {});
    } else {
      HEAPTAPE_RETURN_IF_ERROR(
          read_next(tape, std::min<uint64_t>(kBatchEvents, plan.room(done)), done, read));
      facts.note(read);
      HEAPTAPE_RETURN_IF_ERROR(resolver.resolve(read.events, done, batch));
      batch.samples = std::move(read.samples);
      batch.times = std::move(read.times);
      batch.next_time = read.next_time;
      batch.thread_ends = std::move(read.thread_ends);
      shared_numbers.filter(batch.thread_ends);
    }
    const size_t peak = live_peaks.find(batch);
    if (peak != 0 && peak < batch.ops.size()) rest = split_off(batch, peak);
    done += batch.ops.size();
    AfterBatch after = plan.reached(done);
    after.has_live_peak = peak != 0;
    for (const auto& run : runs) {
      HEAPTAPE_RETURN_IF_ERROR(pipeline.submit(*run, batch, after));
    }
    if (progress && done != 0 && rest.ops.empty()) progress(static_cast<double>(done) / static_cast<double>(events));
  }
  HEAPTAPE_RETURN_IF_ERROR(pipeline.drain());
  facts.note(resolver);
  std::vector<RunResult> results;
  for (const auto& run : runs) {
    results.push_back(run->finish(resolver, done, options, facts));
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
