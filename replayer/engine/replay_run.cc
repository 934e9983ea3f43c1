#include "replayer/engine/replay_run.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/number_text.h"

namespace heaptape::replayer {

using base::Result;
using base::Status;

Result<std::unique_ptr<ReplayRun>> ReplayRun::start(const allocators::BackendSpec& spec,
                                                    const allocators::BackendContext& context,
                                                    const ReplayOptions& options,
                                                    uint64_t run_calls) {
  std::unique_ptr<ReplayRun> run(new ReplayRun(spec, context, options, run_calls));
  auto regions = run->backend_->start();
  if (!regions.ok()) {
    HEAPTAPE_RETURN_IF_ERROR(run->settle(regions.error()));
    return run;
  }
  run->begin_analysis(*regions);
  run->apply(*regions);
  return run;
}

void ReplayRun::begin_analysis(const std::vector<allocators::RegionEvent>& regions) {
  analysis_.emplace(backend_->traits(), analysis_options_);
  analysis_->start(regions);
}

allocators::ReplayBatch ReplayRun::replay_batch(const ResolvedBatch& batch) {
  allocators::ReplayBatch result{batch.first_event,        batch.slot_limit,  batch.ops,
                                 batch.recorded_addresses, batch.samples,     batch.times,
                                 batch.next_time,          batch.thread_ends, batch.deaths};
  if (calls_before_ == 0 && time_before_ns_ == 0) return result;
  const auto shift = [this](schema::TimeSample& time) {
    time.event += calls_before_;
    time.time_ns += time_before_ns_;
  };
  result.first_event += calls_before_;
  times_ = batch.times;
  std::ranges::for_each(times_, shift);
  result.times = times_;
  if (result.next_time) shift(*result.next_time);
  thread_ends_ = batch.thread_ends;
  for (schema::ThreadEnd& end : thread_ends_) end.event += calls_before_;
  result.thread_ends = thread_ends_;
  return result;
}

// A backend that is told the future would also need to know that of the ancestors' blocks.
bool ReplayRun::takes_history() const {
  using allocators::BackendKind;
  return !has_failed() && spec_.kind != BackendKind::kRecorded &&
         spec_.kind != BackendKind::kNoop && !backend_->has_foresight();
}

Status ReplayRun::take_history(const ResolvedBatch& batch, uint64_t time_ns) {
  if (!takes_history()) return {};
  time_before_ns_ = time_ns;
  calls_before_ = history_calls_ - batch.first_event;
  history_calls_ += batch.ops.size();
  HEAPTAPE_RETURN_IF_ERROR(settle(backend_->submit(replay_batch(batch))));
  if (has_failed()) return {};
  HEAPTAPE_RETURN_IF_ERROR(settle(backend_->collect(result_)));
  if (has_failed()) return {};
  apply(result_.regions);
  inheritance_.grow(batch.slot_limit);
  for (size_t i = 0; i < batch.ops.size(); ++i) {
    const allocators::ReplayOp& op = batch.ops[i];
    const allocators::Placement& placement = result_.placements[i];
    using allocators::ReplayKind;
    const bool gives_up = op.kind == ReplayKind::kFree || op.kind == ReplayKind::kFreeNull;
    if (gives_up || op.kind == ReplayKind::kNothing) continue;
    // A resize that is refused leaves the block where it was.
    if (op.kind == ReplayKind::kRealloc && placement.address == 0) continue;
    inheritance_[op.slot] = placement;
  }
  for (const schema::SteeringCall& call : batch.steering) {
    const auto steered = backend_->steer(call);
    if (!steered.ok()) return settle(steered.error());
    apply(steered->regions);
    history_settings_.emplace_back(call.op, call.first, call.second);
  }
  return {};
}

// The tape of a forked process begins with the settings of its parent.
bool ReplayRun::has_set(const schema::SteeringCall& call) const {
  return call.event <= inherited_ &&
         std::ranges::count(history_settings_, Setting(call.op, call.first, call.second)) != 0;
}

Status ReplayRun::end_history(uint64_t inherited, uint64_t time_ns) {
  if (!takes_history()) return {};
  inherited_ = inherited;
  time_before_ns_ = time_ns;
  calls_before_ = history_calls_ - inherited;
  std::vector<allocators::RegionEvent> regions;
  for (const base::AddressRange& range : committed_.ranges()) {
    regions.push_back({0, allocators::RegionEvent::Kind::kCommit, range});
  }
  begin_analysis(regions);
  return {};
}

// Notes a failure of the allocator; passes every other error on. A failed allocator gives back its
// memory at once.
Status ReplayRun::settle(const Status& status, Numbers numbers) {
  if (status.ok() || status.error().code != base::ErrorCode::kTarget) return status;
  const uint64_t event = status.error().event.value_or(0);
  // Calls of ancestors have no number on the tape.
  const bool is_ancestors = numbers == Numbers::kAllocators && event <= history_calls_;
  const uint64_t shift = numbers == Numbers::kAllocators ? calls_before_ : 0;
  failure_ = {is_ancestors ? 0 : event - shift, status.error().message};
  output_ = backend_->output();
  backend_.reset();
  analysis_.reset();
  return {};
}

Status ReplayRun::rehearse(const ResolvedBatch& batch) {
  return has_failed() ? Status() : settle(backend_->rehearse(replay_batch(batch)));
}

// A batch holds either inherited blocks only or none: a tape reader ends one between the two.
Status ReplayRun::submit(const PlannedBatch& batch) {
  if (batch.ops.first_event < inherited_) return {};
  return has_failed() ? Status() : settle(backend_->submit(replay_batch(batch.ops)));
}

Status ReplayRun::collect(const PlannedBatch& batch) {
  if (has_failed()) return {};
  if (batch.ops.first_event < inherited_) {
    result_.clear();
    for (const allocators::ReplayOp& op : batch.ops.ops) {
      result_.placements.push_back(inheritance_[op.slot]);
    }
  } else {
    HEAPTAPE_RETURN_IF_ERROR(settle(backend_->collect(result_)));
    apply(result_.regions);
  }
  return batch.lets_go_on() && batch.after.measures() ? measure() : Status();
}

Status ReplayRun::complete(const PlannedBatch& batch) {
  if (has_failed()) return {};
  const AfterBatch& after = batch.after;
  HEAPTAPE_RETURN_IF_ERROR(settle(analysis_->add(batch.ops, result_), Numbers::kTapes));
  for (const schema::SteeringCall& call : batch.ops.steering) {
    if (!has_set(call)) HEAPTAPE_RETURN_IF_ERROR(steer(call));
  }
  if (after.begins_range && !has_failed()) {
    analysis_->set_births(batch.ops.births);
    analysis_->begin_range();
    backend_->forget_latencies();
  }
  if (after.looks_first) HEAPTAPE_RETURN_IF_ERROR(look(after.moments));
  for (const Action& action : after.actions) HEAPTAPE_RETURN_IF_ERROR(perform(action));
  if (!after.looks_first) HEAPTAPE_RETURN_IF_ERROR(look(after.moments));
  if (!after.measures()) return {};
  if (!batch.lets_go_on()) HEAPTAPE_RETURN_IF_ERROR(measure());
  if (has_failed()) return {};
  if (after.has_sample) {
    analysis_->sample(measured_, after.time_ns);
  } else {
    analysis_->note_resident(measured_.resident_bytes);
  }
  return {};
}

Status ReplayRun::take(const PlannedBatch& batch) {
  HEAPTAPE_RETURN_IF_ERROR(submit(batch));
  HEAPTAPE_RETURN_IF_ERROR(collect(batch));
  return complete(batch);
}

void ReplayRun::apply(std::span<const allocators::RegionEvent> regions) {
  for (const allocators::RegionEvent& region : regions) {
    if (region.kind == allocators::RegionEvent::Kind::kCommit) {
      committed_.add(region.range);
    } else {
      committed_.remove(region.range);
    }
  }
}

Status ReplayRun::measure() {
  if (has_failed()) return {};
  auto residency = backend_->residency(committed_.ranges());
  if (!residency.ok()) return settle(residency.error());
  measured_ = std::move(*residency);
  return {};
}

Status ReplayRun::look(std::span<const Moment> moments) {
  if (has_failed() || moments.empty()) return {};
  HEAPTAPE_RETURN_IF_ERROR(measure());
  if (has_failed()) return {};
  allocators::Residency measured = measured_;
  // The sample nearest to the moment may be one behind it, which the backend does not have yet.
  if (const auto& process = moments.front().process;
      process && spec_.kind == allocators::BackendKind::kRecorded) {
    measured.resident_bytes = process->parts.malloc_bytes.value_or(process->resident_bytes);
  }
  const auto kept = backend_->kept_memory(analysis_->gaps());
  if (!kept.ok()) return settle(kept.error());
  analysis_->look(moments, measured, *kept);
  analysis_->note_resident(measured.resident_bytes);
  keep_pins(moments);
  if (!keep_picture_) return {};
  picture_ = analysis_->picture(measured);
  const auto own = backend_->own_statistics();
  if (!own.ok()) return settle(own.error());
  analysis_->note_own(*own);
  return {};
}

size_t ReplayRun::closeup_blocks(size_t runs) {
  constexpr size_t kBlocks = 2048;
  return std::max<size_t>(kBlocks / std::max<size_t>(runs, 1), 1);
}

void ReplayRun::keep_pins(std::span<const Moment> moments) {
  const bool needs_holes = names_culprits_ || closeup_blocks_ != 0;
  const bool needs_pins = keep_pins_ || keep_pinning_blocks_;
  if (!backend_->traits().places_blocks || (!needs_holes && !needs_pins)) return;
  std::vector<std::string> names;
  for (const Moment& moment : moments) {
    if (!moment.name.starts_with(kMarkPrefix)) names.push_back(moment.name);
  }
  if (names.empty()) return;
  const HeapPicture picture = analysis_->picture(measured_);
  if (needs_holes) {
    const std::vector<Hole> holes = find_holes(picture);
    if (names_culprits_) analysis_->note_culprit(main_culprit(picture, holes));
    if (closeup_blocks_ != 0) closeups_.push_back(close_up(picture, holes, closeup_blocks_));
  }
  if (!needs_pins) return;
  std::vector<PinningBlock> blocks = pinning_blocks(picture);
  if (keep_pins_) analysis_->note_pins(blocks, run_calls_);
  if (keep_pinning_blocks_) pins_.push_back({std::move(names), std::move(blocks)});
}

Status ReplayRun::steer(const schema::SteeringCall& call) {
  if (has_failed()) return {};
  if (schema::steering_info(call.op).gives_back()) {
    HEAPTAPE_RETURN_IF_ERROR(measure());
    if (has_failed()) return {};
    analysis_->note_resident(measured_.resident_bytes);
  }
  const auto steered = backend_->steer(call);
  if (!steered.ok()) return settle(steered.error());
  steering_.note(call, steered->outcome);
  analysis_->add(steered->regions);
  apply(steered->regions);
  return {};
}

Status ReplayRun::perform(const Action& action) {
  HEAPTAPE_RETURN_IF_ERROR(measure());
  if (has_failed()) return {};
  const auto given_back = backend_->give_back_memory();
  if (!given_back.ok()) return settle(given_back.error());
  if (!*given_back) {
    cannot_give_back_ = true;
    return {};
  }
  ActionResult& result = analysis_->perform(action.name, measured_, **given_back);
  if (!is_timed_) result.elapsed_ns = 0;
  apply((*given_back)->regions);
  HEAPTAPE_RETURN_IF_ERROR(measure());
  if (!has_failed()) result.after.resident_bytes = measured_.resident_bytes;
  return {};
}

RunResult ReplayRun::finish(const SlotResolver& resolver, uint64_t events,
                            const ReplayOptions& options, const TapeFacts& facts) {
  RunResult result{spec_};
  result.failure = failure_;
  if (has_failed()) {
    result.output = output_;
    return result;
  }
  take_metrics(resolver, options.from - 1, events, result.metrics);
  result.library = backend_->library();
  result.version = backend_->version();
  result.output = backend_->output();  // ends the worker
  result.picture = std::move(picture_);
  result.pins = std::move(pins_);
  result.film = analysis_->film();
  result.closeups = std::move(closeups_);
  add_notes(options, facts, result);
  return result;
}

void ReplayRun::take_metrics(const SlotResolver& resolver, uint64_t before, uint64_t events,
                             RunMetrics& metrics) {
  metrics = analysis_->take_metrics();
  metrics.accounting.before = before;
  metrics.accounting.recorded = events - before;
  metrics.accounting.failed_calls = resolver.skipped().failed_calls;
  metrics.accounting.unknown_frees = resolver.skipped().unknown_frees;
  metrics.live_count_peak = resolver.live().live_count_peak();
  metrics.live_bytes_peak = resolver.live().live_bytes_peak();
  metrics.threads = backend_->threads();
  metrics.counters = backend_->counters();
  metrics.is_timed = is_timed_;
  if (is_timed_) {
    for (const auto& latency : backend_->latencies()) {
      metrics.latencies.push_back({latency, latency, latency});
    }
  }
  metrics.stamp_ns = backend_->stamp_ns();
  metrics.replay_ns_min = metrics.replay_ns_max = metrics.replay_ns;
  for (const auto& curve : backend_->growth()) metrics.growth.push_back(fit_growth(curve));
}

void ReplayRun::add_notes(const ReplayOptions& options, const TapeFacts& facts, RunResult& result) {
  RunMetrics& metrics = result.metrics;
  const RunFacts run{.library_version = result.version,
                     .threads = metrics.threads,
                     .touch = options.touch,
                     .clock = options.clock,
                     .steer = options.steer,
                     .steering = steering_,
                     .settings = settings_,
                     .resident_bytes_peak = metrics.resident_bytes_peak.value,
                     .resident_bytes_at_end = metrics.end.resident_bytes,
                     .compared_blocks = metrics.compared_blocks,
                     .same_offset_share = metrics.same_offset_share,
                     .purged_bytes = metrics.actions.empty() ? purged_bytes(metrics.counters) : 0};
  metrics.incomparable = why_incomparable(spec_, run, facts);
  metrics.known_resident = known_resident(spec_, facts);
  if (options.beginning != nullptr) {
    result.notes.push_back("growths, last frees and cumulative figures are of calls #" +
                           base::grouped(options.from) +
                           " on: the heap before them is that of a keyframe");
  } else if (const uint64_t before = metrics.accounting.before; before != 0) {
    result.notes.push_back("the figures are of calls #" + base::grouped(options.from) + " to #" +
                           base::grouped(before + metrics.accounting.recorded) +
                           " alone: earlier ones were made, and count only in counters and growth");
  }
  std::ranges::move(run_notes(spec_, run, facts), std::back_inserter(result.notes));
  std::ranges::move(backend_->notes(), std::back_inserter(result.notes));
  if (metrics.accounting.refused != 0) {
    result.notes.push_back(
        base::grouped(metrics.accounting.refused) +
        " requests that succeeded in the recorded run were refused: memory is understated");
  }
  if (cannot_give_back_ && !options.looks_first) {
    result.notes.emplace_back("it cannot be asked to return memory: --do has no effect here");
  }
  if (metrics.misaligned_blocks != 0) {
    result.notes.push_back(base::grouped(metrics.misaligned_blocks) +
                           " blocks are aligned to less than requested, the first at #" +
                           base::grouped(metrics.first_misaligned));
  }
  if (!is_timed_ && metrics.replay_ns != 0) {
    result.notes.emplace_back("timings are omitted: with --jobs, allocators share the processors");
  }
  if (!result.output.empty()) {
    result.notes.emplace_back("it printed output: -o REPORT saves that in REPORT.LABEL.log");
  }
}

}  // namespace heaptape::replayer
