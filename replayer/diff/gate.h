// Gates of `heaptape diff`: --fail-if METRIC OP VALUE. A gate states what must not happen.
//
//   peak.committedBytes > 64MiB     fails when the new report's figure is over 64 MiB
//   peak.committedBytes > +5%       ... is over base * 1.05
//   end.holes.bytes > +64MiB        ... is over base + 64 MiB
//   fidelity.sameOffsetShare < -3%  ... is under base * 0.97
//   peak.residentBytes > +5% +1MiB  ... is over base * 1.05 + 1 MiB: small figures may vary more
// If the replays that gave the base's figure disagree, a change is measured from the greatest of
// them for > and >=, from the least for < and <=: differences between equal runs do not count.
//
// A sign makes VALUE a change against the base. The limit of a count or of bytes is an integer. A
// base of 0 has no percentages: no change is 0 %, and any increase exceeds every percentage without
// an amount.
//
// A gate of `heaptape sweep` judges each tape and fails if it fails on one, or it judges an
// aggregate over all tapes:
//
//   p90(peak.residentBytes) > +3%   fails when more than one tape in ten grew by over 3 %
//   mean.residentBytes > 64MiB      ... a tape has a mean over 64 MiB: only sweeps have this metric
//   failed > 0                      ... a cell failed
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "schema/report/report_metrics.h"

namespace heaptape::replayer {

enum class GateGrammar : uint8_t { kDiff, kSweep };

struct Aggregate {
  std::string_view name;
  std::optional<int> percent;  // of the quantile; nothing: the mean
};
inline constexpr Aggregate kAggregates[] = {
    {"p10", 10}, {"p25", 25}, {"median", 50}, {"p75", 75},  {"p90", 90},
    {"p99", 99}, {"min", 0},  {"max", 100},   {"mean", {}},
};
// Metrics of sweeps alone.
inline constexpr std::string_view kFailedCells = "failed";
inline constexpr std::string_view kMeanResident = "mean.residentBytes";

// Nothing if there is no such metric.
std::optional<schema::MetricUnit> metric_unit(std::string_view name, GateGrammar grammar);

enum class GateOp : uint8_t {
  kGreater,
  kGreaterOrEqual,
  kLess,
  kLessOrEqual,
  kEqual,
  kNotEqual,
};

enum class GateKind : uint8_t {
  kAbsolute,  // value
  kChange,    // base + value
  kPercent,   // base + |base| * value / 100 + extra
};

struct Gate {
  std::string expression;  // as the user wrote it, without surrounding blanks; printable ASCII
  std::string aggregate;   // the name of one of kAggregates; empty: none
  std::string metric;
  schema::MetricUnit unit = schema::MetricUnit::kCount;
  GateOp op = GateOp::kGreater;
  GateKind kind = GateKind::kAbsolute;
  long double value = 0;     // holds every 64-bit integer
  long double extra = 0;     // for a percentage: "+1MiB" of "+5% +1MiB", with the same sign
  bool is_optional = false;  // skipped if a side lacks the metric
};

// Blanks may surround each part, so a counter's name has none. Units are those of base/quantity.h,
// and ns, us, ms and s for times. Fails with kUsage and one sentence that quotes the expression and
// names the column, from 1.
base::Result<Gate> parse_gate(std::string_view expression,
                              GateGrammar grammar = GateGrammar::kDiff);

// Whether a figure breaks the gate, by its base for a change; the aggregate does not matter.
bool breaks(const Gate& gate, const schema::MetricValue& now,
            const std::optional<schema::MetricValue>& base);

// Whether a change or an absolute value, which `value` limits, breaks it.
bool is_beyond(const Gate& gate, double number);
double limit_of(const Gate& gate);  // `value`, as a share if it is a percentage: 0.03 for +3%

enum class GateState : uint8_t {
  kPassed,
  kFailed,
  kSkipped,  // neither run has the metric, or one lacks it and the gate is optional
};

struct GateOutcome {
  std::string expression;
  std::string metric;
  std::string run;  // label
  schema::MetricUnit unit = schema::MetricUnit::kCount;
  GateState state = GateState::kSkipped;
  std::optional<schema::MetricValue> base;
  std::optional<schema::MetricValue> now;
  std::optional<schema::Spread> spread;  // of the base's figure, if the limit counts from it
  std::optional<long double> limit;      // compared with `now`, if it is a number
  std::string detail;                    // for people: the values, or why they were not compared
};

// A gate that cannot be evaluated fails: if the new run failed, or the base did and the gate asks
// for a change; if the base has the metric and the new run does not; and if it asks for a change
// and the base has no such metric. It is skipped only if neither run has the metric, or if it is
// optional and one of them lacks it.
GateOutcome evaluate(const Gate& gate, const schema::RunFigures& base,
                     const schema::RunFigures& now);

using RunPair = std::pair<const schema::RunFigures*, const schema::RunFigures*>;  // base, now

// An outcome for each pair. Skips the gate if the two runs have different labels (a baseline) and
// one lacks the figure, or if it asks for a change of resident memory from the recorded run to a
// replay. Unless it is optional, it fails for all pairs if it can be evaluated for none.
std::vector<GateOutcome> judge(const Gate& gate, const std::vector<RunPair>& pairs);

// A failure for each run of the base that has the metric and that the new report lacks: a gate for
// a missing run must not pass.
std::vector<GateOutcome> judge_lost_runs(const Gate& gate,
                                         const std::vector<schema::RunFigures>& base,
                                         const std::vector<schema::RunFigures>& now);

// The gates of `heaptape diff --strict`; docs/howto-ci.md explains each. Equal runs pass them:
// `./dev bench gates` measures that. Each is optional: skipped if one of the two runs lacks the
// metric.
std::vector<Gate> strict_gates();

}  // namespace heaptape::replayer
