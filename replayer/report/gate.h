// Gates of `heaptape diff`: --fail-if METRIC OP VALUE. A gate states what must not happen.
//
//   peak.committedBytes > 64MiB     fails when the new report's figure is over 64 MiB
//   peak.committedBytes > +5%       ... is over base * 1.05
//   end.holes.bytes > +64MiB        ... is over base + 64 MiB
//   fidelity.sameOffsetShare < -3%  ... is under base * 0.97
//   peak.residentBytes > +5% +1MiB  ... is over base * 1.05 + 1 MiB: what is small may move by more
//
// Where the base's figure was not the same in all replays that it is made of, a change counts from
// the greatest of them if the gate is > or >=, from the least if it is < or <=: what equal runs
// differ by is no change.
//
// A sign makes VALUE a change against the base. The limit of a count or of bytes is a whole number.
// From a base of 0 there are no percentages: no change is 0 %, and any increase exceeds every
// percentage that stands alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "schema/report/report_metrics.h"

namespace heaptape::replayer {

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
  std::string expression;  // as the user wrote it, without the blanks around it; printable ASCII
  std::string metric;
  GateOp op = GateOp::kGreater;
  GateKind kind = GateKind::kAbsolute;
  long double value = 0;     // holds every 64-bit integer
  long double extra = 0;     // of a percentage: "+1MiB" of "+5% +1MiB", with the same sign
  bool is_optional = false;  // skipped where a side does not have the metric
};

// Blanks may stand around each part, so none in the name of a counter. Units are those of
// base/quantity.h, and for times ns, us, ms and s. Fails with kUsage and one sentence that quotes
// the expression and names the column, from 1.
base::Result<Gate> parse_gate(std::string_view expression);

enum class GateState : uint8_t {
  kPassed,
  kFailed,
  kSkipped,  // neither run has the metric, or the gate is optional and one of them has not
};

struct GateOutcome {
  std::string expression;
  std::string metric;
  std::string run;  // label
  schema::MetricUnit unit = schema::MetricUnit::kCount;
  GateState state = GateState::kSkipped;
  std::optional<schema::MetricValue> base;
  std::optional<schema::MetricValue> now;
  std::optional<schema::Spread> spread;  // of the base's figure, where the limit counts from it
  std::optional<long double> limit;      // what `now` was compared with, if that is a number
  std::string detail;                    // for people: the values, or why there was no comparison
};

// A gate that cannot tell does not pass: it fails where the new run failed, or the base did and the
// gate asks for a change, where the base has the metric and the new run does not, and where it asks
// for a change and the base has no such metric. It is skipped only where neither run has the
// metric, or if it is optional and one of them does not.
GateOutcome evaluate(const Gate& gate, const schema::RunFigures& base,
                     const schema::RunFigures& now);

}  // namespace heaptape::replayer
