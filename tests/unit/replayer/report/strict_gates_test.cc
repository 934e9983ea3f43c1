#include "replayer/report/strict_gates.h"

#include <gtest/gtest.h>

#include "replayer/report/diff.h"
#include "tests/support/golden.h"
#include "tests/support/reports.h"
#include "tests/support/temp_dir.h"

namespace heaptape::replayer {
namespace {

using tests::named_report;
using tests::run_figures;

ReportDiff strict_diff(std::initializer_list<tests::NamedMetric> base,
                       std::initializer_list<tests::NamedMetric> now) {
  return *diff_reports(named_report("a", {run_figures("x", base)}),
                       named_report("b", {run_figures("x", now)}), strict_gates(), "");
}

TEST(StrictGates, PassEqualRuns) {
  EXPECT_FALSE(strict_diff({{"end.liveBytes", uint64_t{1000}}, {"accounting.refused", uint64_t{0}}},
                           {{"end.liveBytes", uint64_t{1000}}, {"accounting.refused", uint64_t{0}}})
                   .failed);
}

TEST(StrictGates, FailEachForWhatItIsFor) {
  for (const Gate& gate : strict_gates()) {
    const ReportDiff diff =
        strict_diff({{gate.metric, uint64_t{1} << 30}}, {{gate.metric, uint64_t{3} << 29}});
    EXPECT_TRUE(diff.failed) << gate.expression;
  }
}

TEST(StrictGates, LeaveRoomForWhatASmallProgramMovesBy) {
  for (const Gate& gate : strict_gates()) {
    if (gate.kind != GateKind::kPercent) continue;
    const auto more = static_cast<uint64_t>(gate.extra);
    EXPECT_FALSE(strict_diff({{gate.metric, uint64_t{1}}}, {{gate.metric, 1 + more}}).failed)
        << gate.expression;
    EXPECT_TRUE(strict_diff({{gate.metric, uint64_t{1}}}, {{gate.metric, 2 + more}}).failed)
        << gate.expression;
  }
}

TEST(StrictGates, AreSkippedWhereAReportDoesNotHaveTheMetric) {
  EXPECT_FALSE(
      strict_diff({{"peak.liveBytes", uint64_t{1}}}, {{"peak.liveBytes", uint64_t{1}}}).failed);
  EXPECT_FALSE(strict_diff({{"atPlateau.residentBytes", uint64_t{1}}}, {}).failed);
  EXPECT_FALSE(strict_diff({}, {{"atPlateau.residentBytes", uint64_t{1}}}).failed);
}

TEST(StrictGates, AreThoseOfTheDocs) {
  const std::string docs = tests::read_bytes(tests::golden_path("../../docs/howto-ci.md"));
  for (const Gate& gate : strict_gates()) {
    EXPECT_NE(docs.find("`" + gate.expression + "`"), std::string::npos) << gate.expression;
  }
}

}  // namespace
}  // namespace heaptape::replayer
