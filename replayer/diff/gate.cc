#include "replayer/diff/gate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/near_names.h"
#include "replayer/text/metric_text.h"

namespace heaptape::replayer {
namespace {

using schema::MetricValue;

bool holds(long double left, GateOp op, long double right) {
  switch (op) {
    case GateOp::kGreater:
      return left > right;
    case GateOp::kGreaterOrEqual:
      return left >= right;
    case GateOp::kLess:
      return left < right;
    case GateOp::kLessOrEqual:
      return left <= right;
    case GateOp::kEqual:
      return left == right;
    case GateOp::kNotEqual:
      return left != right;
  }
  return true;
}

// Omitted from the report of a replay with --jobs.
bool is_time(const std::string& metric) {
  return metric.starts_with("time.") || metric.starts_with("latency.");
}

bool is_upper(GateOp op) {
  return op == GateOp::kGreater || op == GateOp::kGreaterOrEqual;
}

// The origin of a change.
long double origin_of(const Gate& gate, const GateOutcome& outcome) {
  if (!outcome.spread) return schema::number_of(*outcome.base);
  return is_upper(gate.op) ? outcome.spread->greatest : outcome.spread->least;
}

// The limit for a new figure; none for a percentage of 0 without an amount. `from`: 0 if the gate
// asks for no change.
std::optional<long double> limit_from(const Gate& gate, long double from) {
  if (gate.kind == GateKind::kAbsolute) return gate.value;
  if (gate.kind == GateKind::kChange) return from + gate.value;
  if (from == 0 && gate.extra == 0) return std::nullopt;
  return from + std::fabs(from) * gate.value / 100 + gate.extra;
}

// Rounds the limit of an integral figure without changing the verdict, because nobody wants to read
// of half a byte. == and != use the nearest integer.
long double whole(long double limit, GateOp op) {
  switch (op) {
    case GateOp::kGreater:
    case GateOp::kLessOrEqual:
      return std::floor(limit);
    case GateOp::kLess:
    case GateOp::kGreaterOrEqual:
      return std::ceil(limit);
    case GateOp::kEqual:
    case GateOp::kNotEqual:
      break;
  }
  return std::round(limit);
}

std::optional<long double> limit_of(const Gate& gate, long double from, const MetricValue& now) {
  const std::optional<long double> limit = limit_from(gate, from);
  return limit && schema::is_integer(now) ? whole(*limit, gate.op) : limit;
}

bool is_broken(const Gate& gate, const MetricValue& now, const std::optional<long double>& limit) {
  const long double number = schema::number_of(now);
  if (!limit) {
    const long double change = number == 0 ? 0 : std::numeric_limits<long double>::infinity();
    return holds(std::copysign(change, number), gate.op, gate.value);
  }
  // A double is compared with the limit as a double: 0.3 == 0.3.
  const bool exact = schema::is_integer(now);
  return holds(number, gate.op, exact ? *limit : static_cast<double>(*limit));
}

// Requires a new figure.
std::string describe(const GateOutcome& outcome) {
  std::string text = "new " + exact_text(schema::number_of(*outcome.now), outcome.unit);
  if (outcome.limit) text += ", limit " + exact_text(*outcome.limit, outcome.unit);
  if (outcome.base) {
    text += ", base " + exact_text(schema::number_of(*outcome.base), outcome.unit);
  }
  if (outcome.spread) {
    text += " (" + exact_text(outcome.spread->least, outcome.unit) + " to " +
            exact_text(outcome.spread->greatest, outcome.unit) + ")";
  }
  return text;
}

using schema::RunFigures;

// Suggests marks and counters, whose names only the runs know.
std::string near_names(const std::string& metric, const std::vector<RunPair>& pairs) {
  std::vector<std::string> names;
  for (const auto& [base, now] : pairs) {
    for (const schema::Metric& known : now->metrics) names.push_back(known.name);
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return base::did_you_mean(metric, names);
}

// Whether the change is meaningless: the recorded run's residency is that of its whole process.
bool is_of_other_memory(const Gate& gate, const RunFigures& base, const RunFigures& now) {
  const bool has_both = base.failure.empty() && now.failure.empty() && base.metric(gate.metric) &&
                        now.metric(gate.metric);
  return has_both && gate.kind != GateKind::kAbsolute && gate.metric.ends_with(".residentBytes") &&
         (base.backend == schema::kRecordedBackend) != (now.backend == schema::kRecordedBackend);
}

}  // namespace

std::optional<schema::MetricUnit> metric_unit(std::string_view name, GateGrammar grammar) {
  if (grammar == GateGrammar::kSweep) {
    if (name == kFailedCells) return schema::MetricUnit::kCount;
    if (name == kMeanResident) return schema::MetricUnit::kBytes;
  }
  if (!schema::is_metric_name(name)) return std::nullopt;
  return schema::metric_unit(name);
}

bool breaks(const Gate& gate, const MetricValue& now, const std::optional<MetricValue>& base) {
  return is_broken(gate, now, limit_of(gate, base ? schema::number_of(*base) : 0, now));
}

bool is_beyond(const Gate& gate, double number) {
  return holds(number, gate.op, limit_of(gate));
}

double limit_of(const Gate& gate) {
  return static_cast<double>(gate.kind == GateKind::kPercent ? gate.value / 100 : gate.value);
}

GateOutcome evaluate(const Gate& gate, const schema::RunFigures& base,
                     const schema::RunFigures& now) {
  GateOutcome outcome;
  outcome.expression = gate.expression;
  outcome.metric = gate.metric;
  outcome.run = now.label;
  outcome.unit = gate.unit;
  outcome.base = base.metric(gate.metric);
  outcome.now = now.metric(gate.metric);
  const bool needs_base = gate.kind != GateKind::kAbsolute;
  if (!now.failure.empty()) {
    outcome.state = GateState::kFailed;
    outcome.detail = "the new run failed " + now.failure;
  } else if (!base.failure.empty() && needs_base) {
    outcome.state = GateState::kFailed;
    outcome.detail = "the base run failed " + base.failure;
  } else if (!outcome.base && !outcome.now) {
    outcome.detail = "this run has no " + gate.metric;
  } else if (gate.is_optional && (!outcome.now || (needs_base && !outcome.base))) {
    outcome.detail =
        "the " + std::string(outcome.now ? "base" : "new") + " run has no " + gate.metric;
  } else if (!outcome.now || (needs_base && !outcome.base)) {
    outcome.state = GateState::kFailed;
    outcome.detail =
        "the " + std::string(outcome.now ? "base" : "new") + " run has no " + gate.metric;
    if (is_time(gate.metric)) outcome.detail += " (replays with --jobs have no times)";
  } else {
    const bool has_sides = gate.op != GateOp::kEqual && gate.op != GateOp::kNotEqual;
    if (needs_base && has_sides) outcome.spread = base.spread(gate.metric);
    outcome.limit = limit_of(gate, needs_base ? origin_of(gate, outcome) : 0, *outcome.now);
    const bool failed = is_broken(gate, *outcome.now, outcome.limit);
    outcome.state = failed ? GateState::kFailed : GateState::kPassed;
    outcome.detail = describe(outcome);
  }
  return outcome;
}

std::vector<GateOutcome> judge(const Gate& gate, const std::vector<RunPair>& pairs) {
  std::vector<GateOutcome> outcomes;
  for (const auto& [base, now] : pairs) {
    Gate of_pair = gate;
    of_pair.is_optional |= base->label != now->label;  // not all allocators have all figures
    outcomes.push_back(evaluate(of_pair, *base, *now));
    if (is_of_other_memory(gate, *base, *now)) {
      outcomes.back().state = GateState::kSkipped;
      outcomes.back().detail =
          "the recorded run's resident bytes are those of its whole process, not of its heap alone";
    }
  }
  const bool unanswered = std::ranges::all_of(
      outcomes, [](const GateOutcome& o) { return o.state == GateState::kSkipped; });
  if (!unanswered || gate.is_optional) return outcomes;
  for (GateOutcome& outcome : outcomes) {
    outcome.state = GateState::kFailed;
    if (outcome.base || outcome.now) continue;  // says which of the two lacks it
    outcome.detail = "no compared run has " + gate.metric + near_names(gate.metric, pairs);
  }
  return outcomes;
}

std::vector<GateOutcome> judge_lost_runs(const Gate& gate, const std::vector<RunFigures>& base,
                                         const std::vector<RunFigures>& now) {
  std::vector<GateOutcome> outcomes;
  for (const RunFigures& run : base) {
    const bool is_lost = std::ranges::find(now, run.label, &RunFigures::label) == now.end() &&
                         run.metric(gate.metric);
    if (!is_lost) continue;
    GateOutcome outcome;
    outcome.expression = gate.expression;
    outcome.metric = gate.metric;
    outcome.run = run.label;
    outcome.unit = gate.unit;
    outcome.state = GateState::kFailed;
    outcome.base = run.metric(gate.metric);
    outcome.detail = "the new report has no such run";
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

std::vector<Gate> strict_gates() {
  // Equal runs of a small program may differ by the bytes beside a percentage.
  constexpr struct {
    const char* expression;
    bool is_optional;  // some runs lack it
  } kGates[] = {
      {"peak.liveBytes > +1% +64KiB", false},     {"end.liveBytes > +1% +64KiB", false},
      {"end.liveCount > +1% +100", false},        {"peak.committedBytes > +30% +4MiB", false},
      {"peak.residentBytes > +5% +1MiB", false},  {"atPlateau.residentBytes > +5% +1MiB", true},
      {"atExit.residentBytes > +5% +1MiB", true}, {"peak.holes.over1MiB > +2", true},
      {"accounting.refused > 0", false},          {"growth.worstExponent > +0.2", true},
      {"tape.losses.lostEvents > 0", true},
  };
  std::vector<Gate> gates;
  for (const auto& [expression, is_optional] : kGates) {
    auto gate = parse_gate(expression);
    HEAPTAPE_CHECK(gate.ok());
    gate->is_optional = is_optional;
    gates.push_back(*std::move(gate));
  }
  return gates;
}

}  // namespace heaptape::replayer
