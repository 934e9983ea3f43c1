
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "replayer/diff/diff.h"
#include "replayer/diff/gate.h"
#include "tests/support/golden.h"
#include "tests/support/reports.h"
#include "tests/support/temp_dir.h"

namespace heaptape::replayer {
namespace {

using tests::named_report;
using tests::run_figures;

// The outcome of one gate, of runs that have this figure alone.
GateState outcome(const Gate& gate, std::optional<uint64_t> base, std::optional<uint64_t> now) {
  const auto run_with = [&gate](std::optional<uint64_t> value) {
    auto run = run_figures("x");
    if (value) run.metrics.push_back({gate.metric, *value});
    return run;
  };
  return diff_reports(named_report("a", {run_with(base)}), named_report("b", {run_with(now)}),
                      {gate}, "")
      ->gates.at(0)
      .state;
}

TEST(StrictGates, PassEqualRuns) {
  for (const Gate& gate : strict_gates()) {
    const uint64_t value = gate.kind == GateKind::kAbsolute ? 0 : 1000;
    EXPECT_EQ(outcome(gate, value, value), GateState::kPassed) << gate.expression;
  }
}

TEST(StrictGates, FailEachForWhatItIsFor) {
  for (const Gate& gate : strict_gates()) {
    EXPECT_EQ(outcome(gate, uint64_t{1} << 30, uint64_t{3} << 29), GateState::kFailed)
        << gate.expression;
  }
}

TEST(StrictGates, LeaveRoomForWhatASmallProgramMovesBy) {
  for (const Gate& gate : strict_gates()) {
    if (gate.kind != GateKind::kPercent) continue;
    const auto more = static_cast<uint64_t>(gate.extra);
    EXPECT_EQ(outcome(gate, 1, 1 + more), GateState::kPassed) << gate.expression;
    EXPECT_EQ(outcome(gate, 1, 2 + more), GateState::kFailed) << gate.expression;
  }
}

TEST(StrictGates, AreSkippedWhereARunNeedsNotHaveTheMetric) {
  for (const Gate& gate : strict_gates()) {
    if (!gate.is_optional) continue;
    EXPECT_EQ(outcome(gate, 1, {}), GateState::kSkipped) << gate.expression;
    if (gate.kind == GateKind::kAbsolute) continue;
    EXPECT_EQ(outcome(gate, {}, 1), GateState::kSkipped) << gate.expression;
  }
}

TEST(StrictGates, AreSkippedForAFigureThatSomeRunsLack) {
  const std::vector<Gate> gates = strict_gates();
  for (const char* const metric :
       {"atPlateau.residentBytes", "atExit.residentBytes", "peak.holes.over1MiB",
        "growth.worstExponent", "tape.losses.lostEvents"}) {
    const auto gate = std::ranges::find(gates, metric, &Gate::metric);
    ASSERT_NE(gate, gates.end()) << metric;
    EXPECT_EQ(outcome(*gate, 1, {}), GateState::kSkipped) << metric;
  }
}

TEST(StrictGates, AreNotSkippedForAFigureThatEveryRunHas) {
  const std::vector<Gate> gates = strict_gates();
  for (const char* const metric : {"peak.liveBytes", "end.liveBytes", "end.liveCount",
                                   "peak.committedBytes", "peak.residentBytes"}) {
    const auto gate = std::ranges::find(gates, metric, &Gate::metric);
    ASSERT_NE(gate, gates.end()) << metric;
    EXPECT_EQ(outcome(*gate, 1, {}), GateState::kFailed) << metric;
  }
}

TEST(StrictGates, AreThoseOfTheDocs) {
  const std::string docs = tests::read_bytes(tests::golden_path("../../docs/howto-ci.md"));
  for (const Gate& gate : strict_gates()) {
    EXPECT_NE(docs.find("`" + gate.expression + "`"), std::string::npos) << gate.expression;
  }
}

}  // namespace
}  // namespace heaptape::replayer
