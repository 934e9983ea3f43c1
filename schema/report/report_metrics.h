// The numbers of a report as plain values under dotted names: `end.liveBytes`,
// `end.holes.over1MiB`, `peak.committedBytes` with its place `peak.committedBytes.at`,
// `atMark.NAME.liveBytes`, `counters.NAME`, `end.process.besideMalloc.OWNER.bytes`. Names and units
// are read from report.capnp at run time, so that tables, --fail-if and JSON cannot disagree;
// docs/metrics.md defines each. This header is free of Cap'n Proto.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "schema/heap_remedies.h"
#include "schema/owned_memory.h"
#include "schema/report/cohort_figures.h"
#include "schema/report/site_figures.h"

namespace heaptape::schema {

// Integers stay integers: a 64-bit count does not fit a double.
using MetricValue = std::variant<uint64_t, double>;

long double number_of(const MetricValue& value);  // exact
inline bool is_integer(const MetricValue& value) {
  return value.index() == 0;
}

enum class MetricUnit : uint8_t { kCount, kBytes, kNs, kRatio };

// The metric's unit in report.capnp. Counters are named by their allocators and are counts, except
// those with "bytes" in their names (mappedBytes, bytesCopied) or "Ns" at the end. `name` must be
// that of a metric: see is_metric_name.
MetricUnit metric_unit(std::string_view name);
const char* unit_name(MetricUnit unit);  // "count", "bytes", "ns", "ratio"

inline constexpr std::string_view kCounterPrefix = "counters.";
// latency.OP.FIELD for all calls of that kind, latency.OP.SIZES.FIELD for one band of sizes.
inline constexpr std::string_view kLatencyPrefix = "latency.";
// atMark.NAME.FIELD: as end.FIELD at the end.
inline constexpr std::string_view kMarkPrefix = "atMark.";
// STATE.process.besideMalloc.OWNER.bytes: the process nearest to a moment, by its state; "peak": at
// its own peak.
inline constexpr std::string_view kOwnersInfix = ".process.besideMalloc.";
inline constexpr std::string_view kOwnerSuffix = ".bytes";

// Every numeric field of a run, in the order of report.capnp, and the recording's losses; lists
// (timeline, histograms) are not metrics. Counters, latencies, owners and figures at marks are
// metrics, but their names depend on the run: see is_metric_name.
const std::vector<std::string>& metric_names();

// One of metric_names(), "counters." and a name, "latency.", a kind of call and a field, "atMark.",
// a name and a field of a state, or memory of an owner.
bool is_metric_name(std::string_view name);

// "end.process.besideMalloc." of such a metric of an owner; empty for other metrics.
std::string_view owners_prefix(std::string_view name);

struct Metric {
  std::string name;
  MetricValue value;
};

// For a metric that differed between the replays that gave its figure.
struct Spread {
  std::string metric;
  double least = 0;
  double greatest = 0;
};

// RunFigures::backend of the recorded run itself.
inline constexpr std::string_view kRecordedBackend = "recorded";
// In a run's `lacks`, as in docs/metrics.md; each lacks what the one before does, and more.
inline constexpr std::string_view kLacksReturnedPages = "returnedPages";
inline constexpr std::string_view kLacksResidentPages = "residentPages";
inline constexpr std::string_view kLacksResidentSizes = "residentSizes";

inline constexpr uint32_t kMaxRuns = 1000;  // of a report

// One run of a report. Its text is printable (display_text).
struct RunFigures {
  std::string label;
  std::string backend;
  std::string threads;
  std::string touch;
  std::vector<Metric> metrics;  // as metric_names(), counters, latencies, marks, losses, owners
  std::vector<std::string> growth_verdicts = {};  // a sentence for each operation that grows
  std::string clock = "";
  std::string failure = "";  // "at #12: SENTENCE"; empty: it did not fail
  std::vector<std::string> notes = {};
  std::string incomparable = "";  // why it has no fidelity
  std::vector<Spread> spreads = {};
  std::vector<PinCohorts> pins = {};  // at the moments that have holes beside blocks

  // Nothing if the run does not have that figure: a counter of another allocator, a number that the
  // report omits, or one that is not finite.
  std::optional<MetricValue> metric(std::string_view name) const;
  // Nothing if all replays had the same figure, or there was only one.
  std::optional<Spread> spread(std::string_view name) const;
};

// The recorded process, when it was sampled nearest to a moment.
struct ProcessFigures {
  uint64_t time_ns = 0;  // since the recording began
  uint64_t anonymous_bytes = 0;
  std::optional<uint64_t> malloc_bytes;      // at most all of them; nothing: not known
  std::optional<uint64_t> stack_bytes = {};  // at most the rest of them; nothing: not known
  std::vector<OwnedMemory> owners = {};      // of the rest of that; empty: not known
};

struct MomentFigures {
  std::string name;  // "peak", "plateau", "exit", "end", "mark:NAME"
  uint64_t at = 0;
  uint64_t time_ns = 0;                        // 0 if the tape has no times
  std::optional<ProcessFigures> process = {};  // nothing: it was not sampled
};

struct ReportFigures {
  std::string tape_path;
  uint64_t tape_events = 0;
  std::vector<RunFigures> runs;
  uint64_t tape_threads = 0;               // 0 if the tape was not finished
  std::string tape_command = "";           // of the recorded program; empty in older reports
  std::vector<InnerAllocator> inner = {};  // their calls are not on the tape
  std::vector<std::string> remedies = {};  // what a user can do about that memory
  std::vector<MomentFigures> moments = {};
  std::optional<ProcessFigures> largest = {};  // the sample with most anonymous memory
  std::optional<SiteFigures> sites = {};       // nothing if the tape had no call stacks
  std::optional<LiveCohorts> cohorts = {};     // nothing for an older report, or if all runs failed
  std::string verdict_run = "";                // label of the run that the verdict is about

  // The process, sampled within a sixteenth of the run from that moment; null if it was not.
  const ProcessFigures* process_near(const std::string& moment) const;
};

// The figures of the report in the file `path`.
base::Result<ReportFigures> read_figures(const std::string& path);

}  // namespace heaptape::schema
