#include "replayer/report/report_builder.h"

#include <capnp/dynamic.h>
#include <capnp/message.h>

#include <algorithm>

#include "base/display_text.h"
#include "replayer/report/growth_text.h"
#include "schema/kj_guard.h"
#include "schema/report/report_figures.h"
#include "schema/report/report_json.h"

namespace heaptape::replayer {
namespace {

namespace wire = schema::wire;

double ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// What of the committed memory holds nothing that the program asked for.
double fragmentation(uint64_t live_bytes, uint64_t committed_bytes) {
  return committed_bytes == 0 ? 0 : 1 - ratio(live_bytes, committed_bytes);
}

void set_tape(wire::TapeInfo::Builder out, const schema::TapeReader& tape) {
  const schema::TapeSummary summary = tape.summary().value_or(schema::TapeSummary());
  out.setPath(tape.path());
  out.setCommand(base::command_text(tape.header().command_line));
  out.setEvents(tape.events());
  out.setAllocations(summary.allocations);
  out.setFrees(summary.frees);
  out.setReallocations(summary.reallocations);
  out.setThreads(summary.threads);
  out.setBytesPerEvent(ratio(tape.file_bytes(), tape.events()));
  auto losses = out.initLosses();
  losses.setLostEvents(summary.losses.lost_events);
  losses.setUnrepairedInversions(summary.losses.unrepaired_inversions);
  losses.setLostRanges(summary.losses.lost_ranges);
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

void set_end(wire::End::Builder out, const Snapshot& end) {
  out.setLiveCount(end.live.live_count);
  out.setLiveBytes(end.live.live_bytes);
  out.setUsableBytes(end.usable_bytes);
  out.setSlackBytes(end.usable_bytes > end.live.live_bytes ? end.usable_bytes - end.live.live_bytes
                                                           : 0);
  out.setCommittedBytes(end.committed_bytes);
  out.setResidentBytes(end.resident_bytes);
  out.setCumulativeBytesUpper(end.live.cumulative_bytes_upper);
  out.setCumulativeBytesLower(end.live.cumulative_bytes_lower);
  out.setFragmentation(fragmentation(end.live.live_bytes, end.committed_bytes));
  out.setTemporaries(end.live.temporaries);
  out.setResidentHoleBytes(end.resident_hole_bytes);
  set_holes(out.initHoles(), end.holes);
}

void set_peak(wire::Peak::Builder out, const RunMetrics& run) {
  const auto set = [](wire::PeakValue::Builder value, const Peak& peak) {
    value.setValue(peak.value);
    value.setAt(peak.at);
  };
  set(out.initLiveCount(), run.live_count_peak);
  set(out.initLiveBytes(), run.live_bytes_peak);
  set(out.initUsableBytes(), run.usable_bytes_peak);
  set(out.initCommittedBytes(), run.committed_bytes_peak);
  set(out.initResidentBytes(), run.resident_bytes_peak);
  out.setDistanceToIdeal(ratio(run.committed_bytes_peak.value, run.live_bytes_peak.value));
  out.setFragmentation(
      fragmentation(run.live_bytes_at_committed_peak, run.committed_bytes_peak.value));
  set_holes(out.initHoles(), run.holes_at_committed_peak);
}

// The arrays of the timeline, each from one number of the snapshots.
void set_timeline(wire::Timeline::Builder out, const std::vector<Snapshot>& samples) {
  const auto size = static_cast<unsigned>(samples.size());
  const auto fill = [&samples](capnp::List<uint64_t>::Builder list, auto number_of) {
    for (unsigned i = 0; i < list.size(); ++i) list.set(i, number_of(samples[i]));
  };
  fill(out.initAt(size), [](const Snapshot& s) { return s.at; });
  fill(out.initLiveCount(size), [](const Snapshot& s) { return s.live.live_count; });
  fill(out.initLiveBytes(size), [](const Snapshot& s) { return s.live.live_bytes; });
  fill(out.initUsableBytes(size), [](const Snapshot& s) { return s.usable_bytes; });
  fill(out.initCommittedBytes(size), [](const Snapshot& s) { return s.committed_bytes; });
  fill(out.initResidentBytes(size), [](const Snapshot& s) { return s.resident_bytes; });
  fill(out.initCumulativeBytesUpper(size),
       [](const Snapshot& s) { return s.live.cumulative_bytes_upper; });
  fill(out.initCumulativeBytesLower(size),
       [](const Snapshot& s) { return s.live.cumulative_bytes_lower; });
  fill(out.initHoleCount(size), [](const Snapshot& s) { return s.holes.count; });
  fill(out.initHoleBytes(size), [](const Snapshot& s) { return s.holes.bytes; });
  fill(out.initLargestHole(size), [](const Snapshot& s) { return s.holes.largest; });
  fill(out.initHolesOver64KiB(size), [](const Snapshot& s) { return s.holes.over_64_kib; });
  fill(out.initHolesOver1MiB(size), [](const Snapshot& s) { return s.holes.over_1_mib; });
  fill(out.initHolesOver8MiB(size), [](const Snapshot& s) { return s.holes.over_8_mib; });
  fill(out.initTopBytes(size), [](const Snapshot& s) { return s.holes.top_bytes; });
  fill(out.initResidentHoleBytes(size), [](const Snapshot& s) { return s.resident_hole_bytes; });
}

void set_counts(wire::Run::Builder out, const RunMetrics& run) {
  auto accounting = out.initAccounting();
  accounting.setRecorded(run.accounting.recorded);
  accounting.setReplayed(run.accounting.replayed);
  accounting.setFailedCalls(run.accounting.failed_calls);
  accounting.setUnknownFrees(run.accounting.unknown_frees);
  accounting.setRefused(run.accounting.refused);
  auto fidelity = out.initFidelity();
  fidelity.setSameOffsetShare(run.same_offset_share);
  fidelity.setComparedBlocks(run.compared_blocks);
  fidelity.setFirstDifference(run.first_difference);
  auto resizes = out.initResizes();
  resizes.setInPlace(run.resizes.in_place);
  resizes.setMoved(run.resizes.moved);
  resizes.setMovedBytes(run.resizes.moved_bytes);
  auto time = out.initTime();
  time.setReplayNs(run.replay_ns);
  time.setNsPerEvent(ratio(run.replay_ns, run.accounting.recorded));
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

void set_run(wire::Run::Builder out, const RunResult& result, const ReplayOptions& options) {
  const RunMetrics& run = result.metrics;
  std::string backend = result.spec.backend;
  for (const std::string& variable : result.spec.environment) backend += " " + variable;
  out.setLabel(result.spec.label);
  out.setBackend(backend);
  out.setThreads("merged");
  out.setTouch(allocators::runs_real_code(result.spec) ? touch_name(options.touch) : "none");
  set_counts(out, run);
  set_end(out.initEnd(), run.end);
  set_peak(out.initPeak(), run);
  auto counters = out.initCounters(static_cast<unsigned>(run.counters.size()));
  for (unsigned i = 0; i < counters.size(); ++i) {
    counters[i].setName(run.counters[i].name);
    counters[i].setValue(run.counters[i].value);
  }
  auto latencies = out.initLatency(static_cast<unsigned>(run.latencies.size()));
  for (unsigned i = 0; i < latencies.size(); ++i) {
    const allocators::LatencySummary& latency = run.latencies[i];
    latencies[i].setOp(allocators::name_of(latency.kind));
    latencies[i].setSamples(latency.samples);
    latencies[i].setP50Ns(latency.p50_ns);
    latencies[i].setP99Ns(latency.p99_ns);
    latencies[i].setP999Ns(latency.p999_ns);
    latencies[i].setMaxNs(latency.max_ns);
  }
  if (!run.growth.empty()) set_growth(out.initGrowth(), run.growth);
  set_timeline(out.initTimeline(), run.timeline);
}

// A field of CSV, quoted where it must be (RFC 4180).
std::string csv_field(std::string text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  for (size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2)
    text.insert(at, "\"");
  return "\"" + text + "\"";
}

std::string timeline_csv(wire::Report::Reader report) {
  const auto fields = capnp::Schema::from<wire::Timeline>().getFields();
  std::string text = "run";
  for (const auto field : fields) text += std::string(",") + field.getProto().getName().cStr();
  text += "\n";
  for (const auto run : report.getRuns()) {
    const std::string label = csv_field(run.getLabel().cStr());
    const capnp::DynamicStruct::Reader timeline = run.getTimeline();
    for (unsigned row = 0; row < run.getTimeline().getAt().size(); ++row) {
      text += label;
      for (const auto field : fields) {
        const auto list = timeline.get(field).as<capnp::DynamicList>();
        text += "," + std::to_string(list[row].as<uint64_t>());
      }
      text += "\n";
    }
  }
  return text;
}

}  // namespace

const char* touch_name(allocators::Touch touch) {
  switch (touch) {
    case allocators::Touch::kNone:
      return "none";
    case allocators::Touch::kPage:
      return "page";
    case allocators::Touch::kAll:
      return "all";
  }
  return "?";
}

base::Result<BuiltReport> build_report(const schema::TapeReader& tape,
                                       const std::vector<RunResult>& runs,
                                       const ReplayOptions& options) {
  return schema::guard_kj(
      base::ErrorCode::kIo, "cannot build the report", [&]() -> base::Result<BuiltReport> {
        capnp::MallocMessageBuilder message(1 << 16);
        auto report = message.initRoot<wire::Report>();
        report.setVersion(wire::REPORT_VERSION);
        set_tape(report.initTape(), tape);
        auto list = report.initRuns(static_cast<unsigned>(runs.size()));
        for (unsigned i = 0; i < list.size(); ++i) set_run(list[i], runs[i], options);
        BuiltReport built;
        HEAPTAPE_ASSIGN_OR_RETURN(built.json, schema::to_json(report.asReader()));
        built.timeline_csv = timeline_csv(report.asReader());
        built.figures = schema::figures_of(report.asReader());
        return built;
      });
}

}  // namespace heaptape::replayer
