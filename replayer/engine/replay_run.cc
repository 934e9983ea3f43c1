#include "replayer/engine/replay_run.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/number_text.h"

namespace heaptape::replayer {

using base::Result;
using base::Status;

namespace {

allocators::ReplayBatch replay_batch(const ResolvedBatch& batch) {
  return {batch.first_event,        batch.slot_limit,  batch.ops,
          batch.recorded_addresses, batch.samples,     batch.times,
          batch.next_time,          batch.thread_ends, batch.deaths};
}

}  // namespace

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
  run->analysis_.emplace(run->backend_->traits(),
                         RunAnalysis::Options{.recorded_break = context.header->initial_break,
                                              .heap_growths = options.heap_growths,
                                              .keep_frees = options.keep_picture,
                                              .keep_film = options.keep_film});
  run->analysis_->start(*regions);
  run->apply(*regions);
  return run;
}

// Notes a failure of the allocator; passes every other error on. A failed allocator gives back its
// memory at once.
Status ReplayRun::settle(const Status& status) {
  if (status.ok() || status.error().code != base::ErrorCode::kTarget) return status;
  failure_ = {status.error().event.value_or(0), status.error().message};
  output_ = backend_->output();
  backend_.reset();
  analysis_.reset();
  return {};
}

Status ReplayRun::rehearse(const ResolvedBatch& batch) {
  return has_failed() ? Status() : settle(backend_->rehearse(replay_batch(batch)));
}

Status ReplayRun::submit(const PlannedBatch& batch) {
  return has_failed() ? Status() : settle(backend_->submit(replay_batch(batch.ops)));
}

Status ReplayRun::collect(const PlannedBatch& batch) {
  if (has_failed()) return {};
  HEAPTAPE_RETURN_IF_ERROR(settle(backend_->collect(result_)));
  apply(result_.regions);
  return batch.lets_go_on() && batch.after.measures() ? measure() : Status();
}

Status ReplayRun::complete(const PlannedBatch& batch) {
  if (has_failed()) return {};
  const AfterBatch& after = batch.after;
  HEAPTAPE_RETURN_IF_ERROR(settle(analysis_->add(batch.ops, result_)));
  for (const schema::SteeringCall& call : batch.ops.steering) HEAPTAPE_RETURN_IF_ERROR(steer(call));
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
  if (keep_pins_ || keep_pinning_blocks_) keep_pins(moments);
  if (!keep_picture_) return {};
  picture_ = analysis_->picture(measured);
  const auto own = backend_->own_statistics();
  if (!own.ok()) return settle(own.error());
  analysis_->note_own(*own);
  return {};
}

void ReplayRun::keep_pins(std::span<const Moment> moments) {
  if (!backend_->traits().places_blocks) return;
  std::vector<std::string> names;
  for (const Moment& moment : moments) {
    if (!moment.name.starts_with(kMarkPrefix)) names.push_back(moment.name);
  }
  if (names.empty()) return;
  std::vector<PinningBlock> blocks = pinning_blocks(analysis_->picture(measured_));
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
  take_metrics(resolver, events, result.metrics);
  result.library = backend_->library();
  result.version = backend_->version();
  result.output = backend_->output();  // ends the worker
  result.picture = std::move(picture_);
  result.pins = std::move(pins_);
  result.film = analysis_->film();
  add_notes(options, facts, result);
  return result;
}

void ReplayRun::take_metrics(const SlotResolver& resolver, uint64_t events, RunMetrics& metrics) {
  metrics = analysis_->take_metrics();
  metrics.accounting.recorded = events;
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
  result.notes = run_notes(spec_, run, facts);
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
