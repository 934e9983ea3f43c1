#include "replayer/diff/merged_base.h"

#include <gtest/gtest.h>

#include "tests/support/reports.h"

namespace heaptape::replayer {
namespace {

using schema::RunFigures;
using tests::named_report;
using tests::run_figures;

constexpr char kMetric[] = "peak.residentBytes";

RunFigures run(uint64_t bytes) {
  return run_figures("jemalloc", {{kMetric, bytes}});
}
NamedReport base_of(std::initializer_list<uint64_t> values) {
  std::vector<NamedReport> reports;
  for (const uint64_t value : values) {
    reports.push_back(named_report(std::to_string(value), {run(value)}));
  }
  return merged_base(std::move(reports));
}
GateOutcome judge(const char* gate, const RunFigures& base, const RunFigures& now) {
  return evaluate(*parse_gate(gate), base, now);
}

TEST(MergedBase, IsTheReportWhereThereIsOne) {
  const NamedReport base = base_of({100});
  EXPECT_EQ(base.path, "100");
  EXPECT_TRUE(base.figures.runs[0].spreads.empty());
}

TEST(MergedBase, HasTheMedianAndTheSpread) {
  const NamedReport base = base_of({110, 100, 140});
  EXPECT_EQ(base.path, "140 and 2 more");
  EXPECT_EQ(base.figures.runs[0].metric(kMetric), schema::MetricValue(uint64_t{110}));
  const auto spread = base.figures.runs[0].spread(kMetric);
  ASSERT_TRUE(spread);
  EXPECT_EQ(spread->least, 100);
  EXPECT_EQ(spread->greatest, 140);
}

TEST(MergedBase, HasTheLesserOfTwoInTheMiddle) {
  EXPECT_EQ(base_of({102, 100}).figures.runs[0].metric(kMetric),
            schema::MetricValue(uint64_t{100}));
}

TEST(MergedBase, TakesTheSpreadsOfRepeatsIn) {
  RunFigures repeated = run(100);
  repeated.spreads = {{kMetric, 90, 105}};
  const NamedReport base =
      merged_base({named_report("a", {repeated}), named_report("b", {run(102)})});
  EXPECT_EQ(base.figures.runs[0].spread(kMetric)->least, 90);
  EXPECT_EQ(base.figures.runs[0].spread(kMetric)->greatest, 105);
}

TEST(MergedBase, LeavesOutRunsThatFailed) {
  RunFigures failed = run_figures("jemalloc");
  failed.failure = "at #1: died";
  const NamedReport base =
      merged_base({named_report("a", {run(100)}), named_report("b", {failed})});
  EXPECT_EQ(base.figures.runs[0].failure, "");
  EXPECT_EQ(base.figures.runs[0].metric(kMetric), schema::MetricValue(uint64_t{100}));
}

TEST(MergedBase, HasARunThatFailedInAll) {
  RunFigures failed = run_figures("jemalloc");
  failed.failure = "at #1: died";
  const NamedReport base = merged_base({named_report("a", {failed}), named_report("b", {failed})});
  ASSERT_EQ(base.figures.runs.size(), 1u);
  EXPECT_EQ(base.figures.runs[0].failure, "at #1: died");
}

TEST(MergedBase, HasTheRunsOfAll) {
  const NamedReport base = merged_base(
      {named_report("a", {run_figures("one")}), named_report("b", {run_figures("two")})});
  EXPECT_EQ(base.figures.runs.size(), 2u);
}

TEST(NoisyGates, CountAChangeFromTheGreatestOfTheBase) {
  const RunFigures base = base_of({1000, 1040, 1010}).figures.runs[0];
  EXPECT_EQ(judge("peak.residentBytes>+5%", base, run(1092)).state, GateState::kPassed);
  const GateOutcome failed = judge("peak.residentBytes>+5%", base, run(1093));
  EXPECT_EQ(failed.state, GateState::kFailed);
  EXPECT_EQ(failed.detail, "new 1,093 B, limit 1,092 B, base 1,010 B (1,000 B to 1,040 B)");
}

TEST(NoisyGates, HaveWholeLimits) {
  const RunFigures base = base_of({1000, 1041, 1010}).figures.runs[0];
  EXPECT_EQ(judge("peak.residentBytes>+5%", base, run(1094)).limit, 1093.0L);  // 1,093.05
}

TEST(NoisyGates, CountADecreaseFromTheLeast) {
  const RunFigures base = base_of({1000, 1040, 1010}).figures.runs[0];
  EXPECT_EQ(judge("peak.residentBytes<-5%", base, run(950)).state, GateState::kPassed);
  EXPECT_EQ(judge("peak.residentBytes<-5%", base, run(949)).state, GateState::kFailed);
}

TEST(NoisyGates, JudgeAbsoluteLimitsAndEqualityAsEver) {
  const RunFigures base = base_of({1000, 1040, 1010}).figures.runs[0];
  EXPECT_EQ(judge("peak.residentBytes>1020", base, run(1030)).state, GateState::kFailed);
  EXPECT_EQ(judge("peak.residentBytes==+0", base, run(1010)).state, GateState::kFailed);
}

}  // namespace
}  // namespace heaptape::replayer
