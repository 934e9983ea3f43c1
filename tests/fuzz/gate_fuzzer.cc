// Any text as a gate of a diff or a sweep, evaluated on figures that the first two bytes choose.
#include "replayer/diff/gate.h"
#include "tests/fuzz/fuzz_input.h"

namespace heaptape::fuzz {
namespace {

using replayer::Gate;
using replayer::GateGrammar;
using replayer::GateOp;
using replayer::GateState;
using schema::MetricValue;

schema::RunFigures figures(const std::string& metric, uint8_t choice) {
  static const std::optional<MetricValue> kValues[] = {
      std::nullopt, uint64_t{0}, uint64_t{1}, uint64_t{67108864}, UINT64_MAX, 0.0, 0.3,
      -2.5,         1e300,       5e-324,
  };
  schema::RunFigures run;
  run.label = "run";
  const auto value = kValues[choice % std::size(kValues)];
  if (value) run.metrics.push_back({metric, *value});
  return run;
}

GateOp opposite(GateOp op) {
  switch (op) {
    case GateOp::kGreater:
      return GateOp::kLessOrEqual;
    case GateOp::kGreaterOrEqual:
      return GateOp::kLess;
    case GateOp::kLess:
      return GateOp::kGreaterOrEqual;
    case GateOp::kLessOrEqual:
      return GateOp::kGreater;
    case GateOp::kEqual:
      return GateOp::kNotEqual;
    case GateOp::kNotEqual:
      return GateOp::kEqual;
  }
  HEAPTAPE_CHECK(false);
}

// Of a gate and its opposite one fails, where both figures are there; where neither is, none.
void check_evaluation(Gate gate, const schema::RunFigures& base, const schema::RunFigures& now) {
  const auto outcome = replayer::evaluate(gate, base, now);
  gate.op = opposite(gate.op);
  const auto other = replayer::evaluate(gate, base, now);
  HEAPTAPE_CHECK(!outcome.detail.empty());
  HEAPTAPE_CHECK((outcome.state == GateState::kSkipped) == (!outcome.base && !outcome.now));
  if (!outcome.base || !outcome.now) return;
  HEAPTAPE_CHECK(outcome.state != other.state);
  HEAPTAPE_CHECK(replayer::breaks(gate, *outcome.now, outcome.base) ==
                 (other.state == GateState::kFailed));
}

void check_reading(const Gate& gate, GateGrammar grammar) {
  const auto again = replayer::parse_gate(gate.expression, grammar);
  HEAPTAPE_CHECK(again.ok());
  HEAPTAPE_CHECK(again->metric == gate.metric && again->aggregate == gate.aggregate &&
                 again->op == gate.op && again->kind == gate.kind && again->value == gate.value &&
                 again->expression == gate.expression);
}

}  // namespace
}  // namespace heaptape::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace heaptape;
  fuzz::Input input(data, size);
  const uint8_t base = input.byte();
  const uint8_t now = input.byte();
  const auto grammar = base & 0x80 ? replayer::GateGrammar::kSweep : replayer::GateGrammar::kDiff;
  const auto gate = replayer::parse_gate(input.rest(), grammar);
  if (!gate.ok()) {
    HEAPTAPE_CHECK(gate.error().code == base::ErrorCode::kUsage && !gate.error().message.empty());
    return 0;
  }
  fuzz::check_reading(*gate, grammar);
  fuzz::check_evaluation(*gate, fuzz::figures(gate->metric, base),
                         fuzz::figures(gate->metric, now));
  return 0;
}
