// One allocator in the course of a replay.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "allocators/backend.h"
#include "allocators/catalog/backend_spec.h"
#include "base/result.h"
#include "replayer/engine/replay.h"
#include "replayer/engine/run_analysis.h"
#include "replayer/engine/run_notes.h"
#include "replayer/engine/slot_resolver.h"

namespace heaptape::replayer {

// Once the allocator has failed nothing more happens to it: every call succeeds, and finish() says
// how it failed. Other errors come back from the call. One thread.
class ReplayRun {
 public:
  static base::Result<std::unique_ptr<ReplayRun>> start(const allocators::BackendSpec& spec,
                                                        const allocators::BackendContext& context,
                                                        const ReplayOptions& options);

  bool has_failed() const { return failure_.has_value(); }
  // The allocator runs in a process of its own, at the same time.
  bool has_worker() const { return spec_.kind == allocators::BackendKind::kNative; }
  bool has_foresight() const { return !has_failed() && backend_->has_foresight(); }

  // As Backend has them; `batch` outlives analyse().
  base::Status rehearse(const ResolvedBatch& batch);
  base::Status submit(const ResolvedBatch& batch);
  base::Status collect();
  base::Status analyse(const ResolvedBatch& batch);

  // After a batch was analysed: a point of the timeline.
  base::Status sample(std::optional<uint64_t> time_ns);
  // The same: the account of these moments, which are all now.
  base::Status look(std::span<const Moment> moments);
  // The same: what is resident, for the peak alone.
  base::Status measure_peak();
  // What a program does with malloc_trim, say; memory is measured right before and right after.
  base::Status perform(const Action& action);

  // Once, after the last batch: `events` were replayed.
  RunResult finish(const SlotResolver& resolver, uint64_t events, const ReplayOptions& options,
                   const TapeFacts& facts);

 private:
  ReplayRun(allocators::BackendSpec spec, const allocators::BackendContext& context,
            const ReplayOptions& options)
      : spec_(std::move(spec)),
        backend_(spec_.make(context)),
        keep_picture_(options.keep_picture) {}

  base::Status settle(const base::Status& status);
  void take_metrics(const SlotResolver& resolver, uint64_t events, RunMetrics& metrics);
  void add_notes(const ReplayOptions& options, const TapeFacts& facts, RunResult& result);

  allocators::BackendSpec spec_;
  std::unique_ptr<allocators::Backend> backend_;
  std::optional<RunAnalysis> analysis_;
  allocators::BatchResult result_;
  std::optional<RunFailure> failure_;
  bool cannot_give_back_ = false;
  const bool keep_picture_;
  std::optional<HeapPicture> picture_;
  std::string output_;  // of a failed allocator
};

}  // namespace heaptape::replayer
