// One allocator in the course of a replay.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "allocators/backend.h"
#include "allocators/catalog/backend_spec.h"
#include "base/address/region_set.h"
#include "base/address/slot_table.h"
#include "base/result.h"
#include "replayer/engine/planned_batch.h"
#include "replayer/engine/replay.h"
#include "replayer/engine/run_analysis.h"
#include "replayer/engine/run_notes.h"

namespace heaptape::replayer {

// Once the allocator has failed nothing more happens to it: every call succeeds, and finish() says
// how it failed. Other errors come back from the call. One thread at a time.
class ReplayRun {
 public:
  // `run_calls`: how many events will come.
  static base::Result<std::unique_ptr<ReplayRun>> start(const allocators::BackendSpec& spec,
                                                        const allocators::BackendContext& context,
                                                        const ReplayOptions& options,
                                                        uint64_t run_calls);

  bool has_failed() const { return failure_.has_value(); }
  // The allocator runs in a process of its own, at the same time.
  bool has_worker() const { return spec_.kind == allocators::BackendKind::kNative; }
  bool is_plugin() const { return spec_.kind == allocators::BackendKind::kPlugin; }
  bool has_foresight() const { return !has_failed() && backend_->has_foresight(); }

  // As Backend has it.
  base::Status rehearse(const ResolvedBatch& batch);

  // Whether it can take the calls of ancestors first.
  bool takes_history() const;
  // Calls of ancestors before the forks, `time_ns` after the first began, without an analysis; then
  // end_history(): the blocks that are live now are those that the first `inherited` calls hand
  // out, each in its slot. `time_ns` is that from which the tape counts.
  base::Status take_history(const ResolvedBatch& batch, uint64_t time_ns);
  base::Status end_history(uint64_t inherited, uint64_t time_ns);

  // Each batch in three steps, of which the first is that of Backend. After the second the
  // allocator may go on with the next batch if batch.lets_go_on(). `batch` outlives the
  // third.
  base::Status submit(const PlannedBatch& batch);
  base::Status collect(const PlannedBatch& batch);
  // Analyses what the allocator did, and does what is to be done after the batch.
  base::Status complete(const PlannedBatch& batch);
  // All three.
  base::Status take(const PlannedBatch& batch);

  // Once, after the last batch: `events` were replayed, those before the range included.
  RunResult finish(const SlotResolver& resolver, uint64_t events, const ReplayOptions& options,
                   const TapeFacts& facts);

 private:
  ReplayRun(allocators::BackendSpec spec, const allocators::BackendContext& context,
            const ReplayOptions& options, uint64_t run_calls)
      : spec_(std::move(spec)),
        backend_(spec_.make(context)),
        settings_(allocators::with_recorded_settings(spec_, *context.header, context.steer)),
        analysis_options_{.recorded_break = context.header->initial_break,
                          .heap_growths = options.heap_growths,
                          .keep_frees = options.keep_picture || options.keep_film,
                          .keep_film = options.keep_film},
        keep_picture_(options.keep_picture),
        names_culprits_(options.name_culprits),
        keep_pins_(options.keep_pins),
        keep_pinning_blocks_(options.keep_pinning_blocks),
        closeup_blocks_(options.keep_film ? closeup_blocks(options.specs.size()) : 0),
        run_calls_(run_calls),
        is_timed_(options.jobs == 1) {}

  // Whose numbers of calls an error has.
  enum class Numbers : bool { kAllocators, kTapes };
  base::Status settle(const base::Status& status, Numbers numbers = Numbers::kAllocators);
  void begin_analysis(const std::vector<allocators::RegionEvent>& regions);
  allocators::ReplayBatch replay_batch(const ResolvedBatch& batch);
  // What is resident now.
  base::Status measure();
  base::Status look(std::span<const Moment> moments);
  // Who pins what, and close-ups. All moments are at one call.
  void keep_pins(std::span<const Moment> moments);
  // In a close-up of one of so many runs; together they have a bound, since a page has all of them.
  static size_t closeup_blocks(size_t runs);
  base::Status perform(const Action& action);
  base::Status steer(const schema::SteeringCall& call);
  bool has_set(const schema::SteeringCall& call) const;
  void apply(std::span<const allocators::RegionEvent> regions);
  void take_metrics(const SlotResolver& resolver, uint64_t before, uint64_t events,
                    RunMetrics& metrics);
  void add_notes(const ReplayOptions& options, const TapeFacts& facts, RunResult& result);

  allocators::BackendSpec spec_;
  std::unique_ptr<allocators::Backend> backend_;
  std::optional<RunAnalysis> analysis_;
  uint64_t inherited_ = 0;  // the first calls: their blocks are there
  // The allocator counts calls and time from the first ancestor on.
  uint64_t history_calls_ = 0;   // of ancestors
  uint64_t calls_before_ = 0;    // a number of the tape, and this modulo 2^64: its own number
  uint64_t time_before_ns_ = 0;  // the tape began so long after the first ancestor
  std::vector<schema::TimeSample> times_;  // of the batch submitted, as the allocator has them
  std::vector<schema::ThreadEnd> thread_ends_;
  using Setting = std::tuple<schema::SteeringOp, int64_t, int64_t>;
  std::vector<Setting> history_settings_;               // and other steering calls of ancestors
  base::SlotTable<allocators::Placement> inheritance_;  // by slot
  allocators::BatchResult result_;
  base::RegionSet committed_;       // ahead of the analysis
  allocators::Residency measured_;  // last
  std::optional<RunFailure> failure_;
  bool cannot_give_back_ = false;
  SteeringCounts steering_;
  const allocators::RecordedSettings settings_;
  const RunAnalysis::Options analysis_options_;
  const bool keep_picture_;
  const bool names_culprits_;
  const bool keep_pins_;
  const bool keep_pinning_blocks_;
  const size_t closeup_blocks_;  // 0: none are kept
  const uint64_t run_calls_;
  const bool is_timed_;
  std::optional<HeapPicture> picture_;
  std::vector<PinsAtMoment> pins_;
  std::vector<Closeup> closeups_;
  std::string output_;  // of a failed allocator
};

}  // namespace heaptape::replayer
