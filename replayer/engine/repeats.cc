#include "replayer/engine/repeats.h"

#include <algorithm>
#include <utility>

#include "base/number_text.h"

namespace heaptape::replayer {
namespace {

using allocators::LatencySummary;

struct Figure {
  const char* name;  // as in the report
  uint64_t (*of)(const RunMetrics& run);
};

// What must not differ from one replay to the next.
constexpr Figure kFigures[] = {
    {"peak.committedBytes", [](const RunMetrics& run) { return run.committed_bytes_peak.value; }},
    {"peak.committedBytes.at", [](const RunMetrics& run) { return run.committed_bytes_peak.at; }},
    {"peak.residentBytes", [](const RunMetrics& run) { return run.resident_bytes_peak.value; }},
    {"peak.usableBytes", [](const RunMetrics& run) { return run.usable_bytes_peak.value; }},
    {"peak.holes.bytes", [](const RunMetrics& run) { return run.holes_at_committed_peak.bytes; }},
    {"end.committedBytes", [](const RunMetrics& run) { return run.end.committed_bytes; }},
    {"end.residentBytes", [](const RunMetrics& run) { return run.end.resident_bytes; }},
    {"end.usableBytes", [](const RunMetrics& run) { return run.end.usable_bytes; }},
    {"end.holes.bytes", [](const RunMetrics& run) { return run.end.holes.bytes; }},
    {"resizes.moved", [](const RunMetrics& run) { return run.resizes.moved; }},
    {"accounting.refused", [](const RunMetrics& run) { return run.accounting.refused; }},
};

struct Range {
  uint64_t least;
  uint64_t middle;
  uint64_t greatest;
};

// The mean of the two in the middle where the number is even.
Range range_of(std::vector<uint64_t> values) {
  std::ranges::sort(values);
  const uint64_t low = values[(values.size() - 1) / 2];
  const uint64_t high = values[values.size() / 2];
  return {values.front(), low + (high - low) / 2, values.back()};
}

void note_differences(const std::vector<RunResult>& repeats, std::vector<std::string>& notes) {
  for (const Figure& figure : kFigures) {
    std::vector<uint64_t> values;
    for (const RunResult& repeat : repeats) values.push_back(figure.of(repeat.metrics));
    const uint64_t first = values.front();
    const Range range = range_of(std::move(values));
    if (range.least == range.greatest) continue;
    notes.push_back(std::string(figure.name) +
                    " is not the same in each repeat: " + base::grouped(range.least) + " to " +
                    base::grouped(range.greatest) + ", " + base::grouped(first) + " in the first");
  }
}

// Those of the same calls in each repeat: which are timed depends on their numbers alone.
LatencyRange merge(const std::vector<LatencySummary>& repeats) {
  LatencyRange range{repeats[0], repeats[0], repeats[0]};
  const auto set = [&](uint64_t LatencySummary::* field) {
    std::vector<uint64_t> values;
    for (const LatencySummary& repeat : repeats) values.push_back(repeat.*field);
    const Range of = range_of(std::move(values));
    range.least.*field = of.least;
    range.middle.*field = of.middle;
    range.greatest.*field = of.greatest;
  };
  for (const auto field : {&LatencySummary::p50_ns, &LatencySummary::p99_ns,
                           &LatencySummary::p999_ns, &LatencySummary::max_ns}) {
    set(field);
  }
  range.greatest.max_event =
      std::ranges::max_element(repeats, {}, &LatencySummary::max_ns)->max_event;
  return range;
}

void merge_latencies(const std::vector<RunResult>& repeats, std::vector<LatencyRange>& latencies) {
  for (LatencyRange& latency : latencies) {
    std::vector<LatencySummary> same;
    for (const RunResult& repeat : repeats) {
      for (const LatencyRange& other : repeat.metrics.latencies) {
        const bool is_same =
            other.middle.kind == latency.middle.kind && other.middle.sizes == latency.middle.sizes;
        if (is_same) same.push_back(other.middle);
      }
    }
    latency = merge(same);
  }
}

}  // namespace

RunResult merge_repeats(std::vector<RunResult> repeats) {
  for (size_t i = 0; i < repeats.size(); ++i) {
    if (!repeats[i].failure) continue;
    if (i != 0) repeats[i].failure->text += " (in repeat " + base::grouped(i + 1) + ")";
    return std::move(repeats[i]);
  }
  RunResult result = repeats[0];
  if (repeats.size() == 1) return result;
  std::vector<uint64_t> times;
  for (const RunResult& repeat : repeats) times.push_back(repeat.metrics.replay_ns);
  const Range range = range_of(std::move(times));
  result.metrics.repeats = static_cast<uint32_t>(repeats.size());
  result.metrics.replay_ns = range.middle;
  result.metrics.replay_ns_min = range.least;
  result.metrics.replay_ns_max = range.greatest;
  merge_latencies(repeats, result.metrics.latencies);
  note_differences(repeats, result.notes);
  for (RunResult& repeat : repeats) {
    repeat.metrics.timeline.clear();
    result.repeats.push_back(std::move(repeat.metrics));
  }
  return result;
}

}  // namespace heaptape::replayer
