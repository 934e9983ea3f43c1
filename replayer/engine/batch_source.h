// The batches of a replay, in turn: read, resolved, and ending where there is something to do.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "replayer/engine/event_clock.h"
#include "replayer/engine/foresight.h"
#include "replayer/engine/live_peaks.h"
#include "replayer/engine/planned_batch.h"
#include "replayer/engine/replay.h"
#include "replayer/engine/replay_plan.h"
#include "replayer/engine/run_notes.h"
#include "replayer/engine/shared_numbers.h"
#include "replayer/engine/slot_resolver.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// One thread at a time.
class BatchSource {
 public:
  // `tape` stands at its beginning, or at that of the replay; it and `deaths` outlive the source.
  // The first `events` calls.
  // `inherited`: slots of the blocks that the first of these hand out, where they have some.
  BatchSource(schema::TapeReader& tape, uint64_t events, const ReplayOptions& options,
              const DeathTimes& deaths, const SlotResolver::Slots& inherited = {});

  // Replaces `batch`. False when there are no more; a tape without events gives one batch.
  base::Result<bool> next(PlannedBatch& batch);
  // No more batches are wanted. Once.
  void finish();

  uint64_t events() const { return events_; }
  const SlotResolver& resolver() const { return resolver_; }
  const TapeFacts& facts() const { return facts_; }

 private:
  base::Status read(ResolvedBatch& batch);
  void read_beginning(size_t max_events);
  void cut_where_steered(ResolvedBatch& batch);

  schema::TapeReader& tape_;
  const uint64_t before_;  // calls before the range
  const uint64_t events_;
  const bool looks_first_;
  const allocators::Steer steer_;
  const DeathTimes& deaths_;
  const std::shared_ptr<const schema::Keyframe> beginning_;
  ReplayPlan plan_;
  SlotResolver resolver_;
  TapeFacts facts_;
  SharedNumbers shared_numbers_;
  LivePeaks live_peaks_;
  EventClock clock_;
  schema::EventBatch read_;
  std::vector<ResolvedBatch> rests_;  // read already, and yet to come: the last one first
  LiveValues live_;                   // after the last batch
  uint64_t done_ = 0;                 // calls; the blocks of a keyframe count as those before it
  bool has_begun_ = false;
};

}  // namespace heaptape::replayer
