#include "replayer/diff/gate.h"

#include <cmath>
#include <limits>

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

}  // namespace heaptape::replayer
