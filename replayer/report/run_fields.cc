#include "replayer/report/run_fields.h"

#include <algorithm>

#include "replayer/report/growth_text.h"

namespace heaptape::replayer {
namespace {

namespace wire = schema::wire;

// What of the committed memory holds nothing that the program asked for.
double fragmentation(uint64_t live_bytes, uint64_t committed_bytes) {
  return committed_bytes == 0 ? 0 : 1 - ratio(live_bytes, committed_bytes);
}

void set_holes(wire::Holes::Builder out, const HoleStats& holes) {
  out.setCount(holes.count);
  out.setBytes(holes.bytes);
  out.setLargest(holes.largest);
  out.setOver64KiB(holes.over_64_kib);
  out.setOver1MiB(holes.over_1_mib);
  out.setOver8MiB(holes.over_8_mib);
  out.setTopBytes(holes.top_bytes);
  const auto filled = std::ranges::count_if(holes.histogram, &HoleBucket::count);
  auto buckets = out.initHistogram(static_cast<unsigned>(filled));
  unsigned next = 0;
  for (uint32_t log2 = 0; log2 < holes.histogram.size(); ++log2) {
    if (holes.histogram[log2].count == 0) continue;
    buckets[next].setLog2Size(log2);
    buckets[next].setCount(holes.histogram[log2].count);
    buckets[next++].setBytes(holes.histogram[log2].bytes);
  }
}

void set_blocks_at_end(wire::End::Builder out, const Snapshot& end) {
  out.setUsableBytes(end.usable_bytes);
  out.setSlackBytes(end.usable_bytes > end.live.live_bytes ? end.usable_bytes - end.live.live_bytes
                                                           : 0);
  out.setResidentHoleBytes(end.resident_hole_bytes);
  set_holes(out.initHoles(), end.holes);
}

void set_end(wire::End::Builder out, const Snapshot& end) {
  out.setLiveCount(end.live.live_count);
  out.setLiveBytes(end.live.live_bytes);
  out.setCommittedBytes(end.committed_bytes);
  out.setResidentBytes(end.resident_bytes);
  out.setCumulativeBytesUpper(end.live.cumulative_bytes_upper);
  out.setCumulativeBytesLower(end.live.cumulative_bytes_lower);
  out.setFragmentation(fragmentation(end.live.live_bytes, end.committed_bytes));
  out.setTemporaries(end.live.temporaries);
}

void set_peaks(wire::Peak::Builder out, const RunMetrics& run) {
  set_peak(out.initLiveCount(), run.live_count_peak);
  set_peak(out.initLiveBytes(), run.live_bytes_peak);
  set_peak(out.initCommittedBytes(), run.committed_bytes_peak);
  set_peak(out.initResidentBytes(), run.resident_bytes_peak);
  out.setDistanceToIdeal(ratio(run.committed_bytes_peak.value, run.live_bytes_peak.value));
  out.setFragmentation(
      fragmentation(run.live_bytes_at_committed_peak, run.committed_bytes_peak.value));
  if (!run.follows_blocks) return;
  set_peak(out.initUsableBytes(), run.usable_bytes_peak);
  set_holes(out.initHoles(), run.holes_at_committed_peak);
}

// The arrays of the timeline, each from one number of the snapshots.
void set_timeline(wire::Timeline::Builder out, const RunMetrics& run) {
  const std::vector<Snapshot>& samples = run.timeline;
  const auto size = static_cast<unsigned>(samples.size());
  const auto fill = [&samples](capnp::List<uint64_t>::Builder list, auto number_of) {
    for (unsigned i = 0; i < list.size(); ++i) list.set(i, number_of(samples[i]));
  };
  fill(out.initAt(size), [](const Snapshot& s) { return s.at; });
  fill(out.initLiveCount(size), [](const Snapshot& s) { return s.live.live_count; });
  fill(out.initLiveBytes(size), [](const Snapshot& s) { return s.live.live_bytes; });
  fill(out.initCommittedBytes(size), [](const Snapshot& s) { return s.committed_bytes; });
  fill(out.initResidentBytes(size), [](const Snapshot& s) { return s.resident_bytes; });
  fill(out.initCumulativeBytesUpper(size),
       [](const Snapshot& s) { return s.live.cumulative_bytes_upper; });
  fill(out.initCumulativeBytesLower(size),
       [](const Snapshot& s) { return s.live.cumulative_bytes_lower; });
  if (!run.follows_blocks) return;
  fill(out.initUsableBytes(size), [](const Snapshot& s) { return s.usable_bytes; });
  fill(out.initHoleCount(size), [](const Snapshot& s) { return s.holes.count; });
  fill(out.initHoleBytes(size), [](const Snapshot& s) { return s.holes.bytes; });
  fill(out.initLargestHole(size), [](const Snapshot& s) { return s.holes.largest; });
  fill(out.initHolesOver64KiB(size), [](const Snapshot& s) { return s.holes.over_64_kib; });
  fill(out.initHolesOver1MiB(size), [](const Snapshot& s) { return s.holes.over_1_mib; });
  fill(out.initHolesOver8MiB(size), [](const Snapshot& s) { return s.holes.over_8_mib; });
  fill(out.initTopBytes(size), [](const Snapshot& s) { return s.holes.top_bytes; });
  fill(out.initResidentHoleBytes(size), [](const Snapshot& s) { return s.resident_hole_bytes; });
}

void set_fidelity(wire::Run::Builder out, const RunMetrics& run) {
  if (!run.incomparable.empty()) {
    out.setIncomparable(run.incomparable);
    return;
  }
  auto fidelity = out.initFidelity();
  fidelity.setSameOffsetShare(run.same_offset_share);
  fidelity.setComparedBlocks(run.compared_blocks);
  fidelity.setFirstDifference(run.first_difference);
}

void set_counts(wire::Run::Builder out, const RunMetrics& run) {
  auto accounting = out.initAccounting();
  accounting.setRecorded(run.accounting.recorded);
  accounting.setReplayed(run.accounting.replayed);
  accounting.setFailedCalls(run.accounting.failed_calls);
  accounting.setUnknownFrees(run.accounting.unknown_frees);
  accounting.setRefused(run.accounting.refused);
  set_fidelity(out, run);
  if (!run.follows_blocks) return;
  auto resizes = out.initResizes();
  resizes.setInPlace(run.resizes.in_place);
  resizes.setMoved(run.resizes.moved);
  resizes.setMovedBytes(run.resizes.moved_bytes);
}

void set_growth(wire::Growth::Builder out, const std::vector<GrowthFit>& fits) {
  out.setWorstExponent(worst_exponent(fits));
  auto curves = out.initCurves(static_cast<unsigned>(fits.size()));
  for (unsigned i = 0; i < curves.size(); ++i) {
    curves[i].setOperation(fits[i].operation);
    curves[i].setWork(fits[i].work);
    curves[i].setScale(fits[i].scale);
    curves[i].setOperations(fits[i].operations);
    curves[i].setWorkTotal(fits[i].work_total);
    curves[i].setFitted(fits[i].is_fitted);
    curves[i].setExponent(fits[i].exponent);
    curves[i].setExponentLow(fits[i].exponent_low);
    curves[i].setExponentHigh(fits[i].exponent_high);
    curves[i].setGrows(fits[i].grows);
    curves[i].setVerdict(growth_sentence(fits[i]));
  }
}

void set_counters(wire::Run::Builder out, const std::vector<allocators::Counter>& counters) {
  auto list = out.initCounters(static_cast<unsigned>(counters.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    list[i].setName(counters[i].name);
    list[i].setValue(counters[i].value);
  }
}

void set_actions(wire::Run::Builder out, const std::vector<ActionResult>& actions) {
  auto list = out.initActions(static_cast<unsigned>(actions.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    list[i].setAction(actions[i].action);
    list[i].setAt(actions[i].at);
    list[i].setCommittedBytesBefore(actions[i].before.committed_bytes);
    list[i].setCommittedBytesAfter(actions[i].after.committed_bytes);
    list[i].setResidentBytesBefore(actions[i].before.resident_bytes);
    list[i].setResidentBytesAfter(actions[i].after.resident_bytes);
    list[i].setElapsedNs(actions[i].elapsed_ns);
  }
}

void set_latency(wire::Latency::Builder out, const LatencyRange& latency) {
  out.setOp(allocators::name_of(latency.middle.kind));
  out.setSizes(latency.middle.sizes);
  out.setSamples(latency.middle.samples);
  out.setP50Ns(latency.middle.p50_ns);
  out.setP99Ns(latency.middle.p99_ns);
  out.setP999Ns(latency.middle.p999_ns);
  out.setMaxNs(latency.greatest.max_ns);
  out.setMaxAt(latency.greatest.max_event);
  out.setP50NsMin(latency.least.p50_ns);
  out.setP50NsMax(latency.greatest.p50_ns);
  out.setP99NsMin(latency.least.p99_ns);
  out.setP99NsMax(latency.greatest.p99_ns);
  out.setP999NsMin(latency.least.p999_ns);
  out.setP999NsMax(latency.greatest.p999_ns);
}

void set_latencies(wire::Run::Builder out, const std::vector<LatencyRange>& latencies) {
  auto list = out.initLatency(static_cast<unsigned>(latencies.size()));
  for (unsigned i = 0; i < list.size(); ++i) set_latency(list[i], latencies[i]);
}

void set_time(wire::Time::Builder out, const RunMetrics& run) {
  out.setReplayNs(run.replay_ns);
  out.setNsPerEvent(ratio(run.replay_ns, run.accounting.recorded));
  out.setRepeats(run.repeats);
  out.setNsPerEventMin(ratio(run.replay_ns_min, run.accounting.recorded));
  out.setNsPerEventMax(ratio(run.replay_ns_max, run.accounting.recorded));
  out.setStampNs(run.stamp_ns);
}

}  // namespace

double ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

void set_peak(wire::PeakValue::Builder out, const Peak& peak) {
  out.setValue(peak.value);
  out.setAt(peak.at);
}

void set_metrics(wire::Run::Builder out, const RunMetrics& run) {
  set_counts(out, run);
  set_time(out.initTime(), run);
  set_end(out.initEnd(), run.end);
  if (run.follows_blocks) set_blocks_at_end(out.getEnd(), run.end);
  set_peaks(out.initPeak(), run);
  set_counters(out, run.counters);
  set_latencies(out, run.latencies);
  if (!run.actions.empty()) set_actions(out, run.actions);
  if (!run.growth.empty()) set_growth(out.initGrowth(), run.growth);
  set_timeline(out.initTimeline(), run);
}

}  // namespace heaptape::replayer
