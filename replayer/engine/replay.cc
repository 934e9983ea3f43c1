#include "replayer/engine/replay.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "replayer/engine/event_clock.h"
#include "replayer/engine/foresight.h"
#include "replayer/engine/live_peaks.h"
#include "replayer/engine/repeats.h"
#include "replayer/engine/replay_plan.h"
#include "replayer/engine/replay_run.h"
#include "replayer/engine/run_notes.h"
#include "replayer/engine/slot_resolver.h"

namespace heaptape::replayer {
namespace {

using base::Result;
using base::Status;

// Large enough that an allocator's working set is warm for most of its turn, small enough that ops,
// placements and the blocks' metadata stay in the second-level cache.
constexpr size_t kBatchEvents = 1 << 14;

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
  std::vector<std::unique_ptr<ReplayRun>> runs;
  for (const allocators::BackendSpec& spec : options.specs) {
    HEAPTAPE_ASSIGN_OR_RETURN(
        auto run,
        ReplayRun::start(spec, {&tape.header(), options.touch, options.threads, options.clock},
                         options));
    runs.push_back(std::move(run));
  }
  HEAPTAPE_ASSIGN_OR_RETURN(const DeathTimes deaths, rehearse(tape, events, runs));
  SlotResolver resolver(events);
  TapeFacts facts(tape.header());
  ReplayPlan plan(events, options.samples, options.actions, options.moments);
  SharedNumbers shared_numbers;
  Pipeline pipeline;
  LivePeaks live_peaks;
  EventClock clock;
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
    batch.deaths = deaths.for_batch(batch);
    done += batch.ops.size();
    AfterBatch after = plan.reached(done);
    after.has_live_peak = peak != 0;
    after.looks_first = options.looks_first;
    clock.note(batch.times, batch.next_time);
    after.time_ns = clock.at(done);
    for (const auto& run : runs) {
      HEAPTAPE_RETURN_IF_ERROR(pipeline.submit(*run, batch, after));
    }
    if (progress && done != 0 && rest.ops.empty()) {
      progress(static_cast<double>(done) / static_cast<double>(events));
    }
  }
  HEAPTAPE_RETURN_IF_ERROR(pipeline.drain());
  facts.note(resolver);
  resolver.finish();
  const auto program = std::make_shared<const ProgramProfile>(resolver.program());
  std::vector<RunResult> results;
  for (const auto& run : runs) {
    results.push_back(run->finish(resolver, done, options, facts));
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
