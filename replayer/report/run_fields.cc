#include "replayer/report/run_fields.h"

#include <capnp/message.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "replayer/metrics/growth.h"
#include "replayer/report/state_fields.h"
#include "replayer/text/metric_text.h"
#include "schema/report/report_figures.h"
#include "schema/report/report_metrics.h"

namespace heaptape::replayer {
namespace {

namespace wire = schema::wire;

// Null if `moments` lacks `name`: it was not observed.
const MomentState* find_moment(const std::vector<MomentState>& moments, std::string_view name) {
  const auto found = std::ranges::find_if(
      moments, [name](const MomentState& state) { return state.moment.name == name; });
  return found == moments.end() ? nullptr : &*found;
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

// The arrays of the timeline, each with one number of the snapshots.
void set_timeline(wire::Timeline::Builder out, const RunMetrics& run) {
  const std::vector<Snapshot>& samples = run.timeline;
  const auto size = static_cast<unsigned>(samples.size());
  const auto fill = [&samples](capnp::List<uint64_t>::Builder list, auto number_of) {
    for (unsigned i = 0; i < list.size(); ++i) list.set(i, number_of(samples[i]));
  };
  fill(out.initAt(size), [](const Snapshot& s) { return s.at; });
  fill(out.initTimeNs(size), [](const Snapshot& s) { return s.time_ns.value_or(0); });
  fill(out.initLiveCount(size), [](const Snapshot& s) { return s.live.live_count; });
  fill(out.initLiveBytes(size), [](const Snapshot& s) { return s.live.live_bytes; });
  fill(out.initCommittedBytes(size), [](const Snapshot& s) { return s.committed_bytes; });
  if (run.known_resident != KnownResident::kNothing) {
    fill(out.initResidentBytes(size), [](const Snapshot& s) { return s.resident_bytes; });
  }
  fill(out.initCumulativeBytesUpper(size),
       [](const Snapshot& s) { return s.live.cumulative_bytes_upper; });
  fill(out.initCumulativeBytesLower(size),
       [](const Snapshot& s) { return s.live.cumulative_bytes_lower; });
  if (!run.follows_blocks) return;
  fill(out.initUsableBytes(size), [](const Snapshot& s) { return s.usable_bytes; });
  auto holes = out.initHoles();
  fill(holes.initCount(size), [](const Snapshot& s) { return s.holes.count; });
  fill(holes.initBytes(size), [](const Snapshot& s) { return s.holes.bytes; });
  fill(holes.initLargest(size), [](const Snapshot& s) { return s.holes.largest; });
  fill(holes.initOver64KiB(size), [](const Snapshot& s) { return s.holes.over_64_kib; });
  fill(holes.initOver1MiB(size), [](const Snapshot& s) { return s.holes.over_1_mib; });
  fill(holes.initOver8MiB(size), [](const Snapshot& s) { return s.holes.over_8_mib; });
  fill(holes.initTopBytes(size), [](const Snapshot& s) { return s.holes.top_bytes; });
  if (run.known_resident > KnownResident::kHoles) return;
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
  accounting.setBefore(run.accounting.before);
  set_lacks(out, run.known_resident);
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
  for (unsigned i = 0; i < list.size(); ++i) set_action(list[i], actions[i]);
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

struct Spread {
  schema::MetricValue least;
  schema::MetricValue greatest;
  size_t count = 1;
};

double as_double(const schema::MetricValue& value) {
  return static_cast<double>(schema::number_of(value));
}

// Omits extremes of the repeats, and places.
bool is_told(const std::string& metric) {
  return !metric.ends_with("Min") && !metric.ends_with("Max") && !metric.ends_with("maxAt") &&
         !metric.ends_with(".at");
}

}  // namespace

void set_import(wire::ImportFacts::Builder out, const schema::TapeOrigin& origin) {
  out.setFormat(origin.format);
  const std::vector<std::string> names = schema::absent_names(origin);
  auto lacks = out.initLacks(static_cast<unsigned>(names.size()));
  for (unsigned i = 0; i < lacks.size(); ++i) lacks.set(i, names[i]);
}

void set_peak(wire::PeakValue::Builder out, const Peak& peak) {
  out.setValue(peak.value);
  out.setAt(peak.at);
}

namespace {

// `set` fills a state.
template <typename Set>
void set_marks(wire::Run::Builder out, const RunMetrics& run, Set set) {
  std::vector<const MomentState*> marks;
  for (const MomentState& state : run.moments) {
    if (state.moment.name.starts_with(kMarkPrefix)) marks.push_back(&state);
  }
  if (marks.empty()) return;
  auto list = out.initAtMarks(static_cast<unsigned>(marks.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    list[i].setName(marks[i]->moment.name.substr(kMarkPrefix.size()));
    set(list[i].initState(), marks[i]->snapshot, marks[i]);
  }
}

void set_states(wire::Run::Builder out, const RunMetrics& run) {
  std::set<uint64_t> with_pins;  // calls: only the first of several states at one call has them
  const auto set = [&](wire::State::Builder state, const Snapshot& snapshot,
                       const MomentState* moment) {
    set_state(state, snapshot, moment != nullptr && moment->account ? &*moment->account : nullptr);
    if (run.follows_blocks) set_blocks(state, snapshot);
    if (run.known_resident == KnownResident::kSum) return;  // pins are of resident holes
    if (moment == nullptr || !moment->pins || !with_pins.insert(snapshot.at).second) return;
    set_cohorts(state.initPins(static_cast<unsigned>(moment->pins->size())), *moment->pins);
  };
  if (const auto* peak = find_moment(run.moments, "peak")) {
    set(out.initAtPeak(), peak->snapshot, peak);
  }
  if (const auto* plateau = find_moment(run.moments, "plateau")) {
    set(out.initAtPlateau(), plateau->snapshot, plateau);
  }
  if (const auto* exit = find_moment(run.moments, "exit")) {
    set(out.initAtExit(), exit->snapshot, exit);
  }
  set(out.initEnd(), run.end, find_moment(run.moments, "end"));
  set_marks(out, run, set);
  auto growths = out.initHeapGrowths(static_cast<unsigned>(run.heap_growths.size()));
  for (unsigned i = 0; i < growths.size(); ++i) set_heap_growth(growths[i], run.heap_growths[i]);
}

}  // namespace

void set_metrics(wire::Run::Builder out, const RunMetrics& run) {
  set_counts(out, run);
  if (run.is_timed && run.replay_ns != 0) set_time(out.initTime(), run);
  set_states(out, run);
  set_peaks(out.initPeak(), run);
  set_counters(out, run.counters);
  set_latencies(out, run.latencies);
  if (!run.actions.empty()) set_actions(out, run.actions);
  if (!run.growth.empty()) set_growth(out.initGrowth(), run.growth);
  set_timeline(out.initTimeline(), run);
}

// The caller is inside guard_kj; the small messages built here may throw as well.
void set_spreads(wire::Run::Builder out, const std::vector<RunMetrics>& repeats) {
  if (repeats.size() < 2) return;
  std::map<std::string, Spread> spreads;
  for (const RunMetrics& repeat : repeats) {
    capnp::MallocMessageBuilder message;
    const auto run = message.initRoot<wire::Run>();
    set_metrics(run, repeat);
    for (const schema::Metric& metric : schema::figures_of(run.asReader()).metrics) {
      const auto [found, is_new] =
          spreads.try_emplace(metric.name, Spread{metric.value, metric.value});
      if (is_new) continue;
      Spread& spread = found->second;
      ++spread.count;
      if (as_double(metric.value) < as_double(spread.least)) spread.least = metric.value;
      if (as_double(metric.value) > as_double(spread.greatest)) spread.greatest = metric.value;
    }
  }
  std::erase_if(spreads, [&repeats](const auto& entry) {
    const Spread& spread = entry.second;
    return !is_told(entry.first) || spread.count != repeats.size() ||
           spread.least == spread.greatest;
  });
  auto list = out.initSpreads(static_cast<unsigned>(spreads.size()));
  unsigned next = 0;
  for (const auto& [name, spread] : spreads) {
    list[next].setMetric(name);
    list[next].setLeast(as_double(spread.least));
    list[next++].setGreatest(as_double(spread.greatest));
  }
}

}  // namespace heaptape::replayer
