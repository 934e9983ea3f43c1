#include "replayer/diff/gate.h"

#include <gtest/gtest.h>

#include "tests/support/reports.h"

namespace heaptape::replayer {
namespace {

using schema::MetricValue;
using tests::run_figures;

class GateTest : public testing::Test {
 protected:
  static GateOutcome outcome(const std::string& rest, std::optional<MetricValue> base,
                             std::optional<MetricValue> now) {
    auto base_run = run_figures("glibc");
    auto new_run = run_figures("glibc");
    if (base) base_run.metrics.push_back({"counters.x", *base});
    if (now) new_run.metrics.push_back({"counters.x", *now});
    return evaluate(*parse_gate("counters.x" + rest), base_run, new_run);
  }
  static bool fails(const std::string& rest, std::optional<MetricValue> base,
                    std::optional<MetricValue> now) {
    return outcome(rest, base, now).state == GateState::kFailed;
  }
  static MetricValue n(uint64_t value) { return value; }
};

TEST_F(GateTest, ComparesWithEachOperator) {
  EXPECT_TRUE(fails(">10", n(0), n(11)));
  EXPECT_FALSE(fails(">10", n(0), n(10)));
  EXPECT_TRUE(fails(">=10", n(0), n(10)));
  EXPECT_TRUE(fails("<10", n(0), n(9)));
  EXPECT_FALSE(fails("<10", n(0), n(10)));
  EXPECT_TRUE(fails("<=10", n(0), n(10)));
  EXPECT_TRUE(fails("==10", n(0), n(10)));
  EXPECT_TRUE(fails("!=10", n(0), n(11)));
}

// Where the base has repeats, an upper limit counts from the greatest figure, a lower one from the
// least, and an exact one from the median.
TEST_F(GateTest, CountsFromTheEndOfTheSpreadThatForgives) {
  auto base = run_figures("glibc");
  base.metrics.push_back({"counters.x", n(100)});
  base.spreads = {{"counters.x", 90, 110}};
  const auto new_run = run_figures("glibc");
  const auto limit = [&](const std::string& op) {
    auto now = new_run;
    now.metrics.push_back({"counters.x", n(100)});
    return evaluate(*parse_gate("counters.x" + op + "+20"), base, now).limit;
  };
  EXPECT_EQ(limit(">"), 130.0L);
  EXPECT_EQ(limit(">="), 130.0L);
  EXPECT_EQ(limit("<"), 110.0L);
  EXPECT_EQ(limit("<="), 110.0L);
  EXPECT_EQ(limit("=="), 120.0L);
}

TEST_F(GateTest, FailsAboveAnIncreaseInPercent) {
  EXPECT_TRUE(fails(">+5%", n(100), n(106)));
  EXPECT_FALSE(fails(">+5%", n(100), n(105)));
}

TEST_F(GateTest, FailsBelowADecreaseInPercent) {
  EXPECT_TRUE(fails("<-5%", n(100), n(94)));
  EXPECT_FALSE(fails("<-5%", n(100), n(95)));
}

TEST_F(GateTest, AddsAChangeToAPercentage) {
  EXPECT_TRUE(fails(">+5%+10", n(100), n(116)));
  EXPECT_FALSE(fails(">+5%+10", n(100), n(115)));
  EXPECT_TRUE(fails("<-5%-10", n(100), n(84)));
  EXPECT_FALSE(fails("<-5%-10", n(100), n(85)));
  EXPECT_TRUE(fails(">+5%+10", n(0), n(11)));
  EXPECT_FALSE(fails(">+5%+10", n(0), n(10)));
  EXPECT_FALSE(fails(">+5%+0", n(0), n(0)));
}

TEST_F(GateTest, AddsAChangeToTheBase) {
  EXPECT_TRUE(fails(">+1KiB", n(1000), n(2025)));
  EXPECT_FALSE(fails(">+1KiB", n(1000), n(2024)));
  EXPECT_TRUE(fails("<-100", n(1000), n(899)));
  EXPECT_FALSE(fails("<-2000", n(1000), n(0)));
}

TEST_F(GateTest, DemandsNoChangeAtAll) {
  EXPECT_FALSE(fails("!=+0", n(7), n(7)));
  EXPECT_TRUE(fails("!=+0", n(7), n(8)));
}

TEST_F(GateTest, SeesAnyIncreaseFromZeroAsMoreThanAnyPercentage) {
  EXPECT_TRUE(fails(">+5%", n(0), n(1)));
  EXPECT_TRUE(fails(">+1000000%", n(0), n(1)));
}

TEST_F(GateTest, SeesZeroAfterZeroAsNoChange) {
  EXPECT_FALSE(fails(">+5%", n(0), n(0)));
  EXPECT_FALSE(fails(">=+5%", n(0), n(0)));
  EXPECT_FALSE(fails("<-5%", n(0), n(0)));
}

TEST_F(GateTest, TellsTheLargestIntegersApart) {
  EXPECT_TRUE(fails(">+0", n(UINT64_MAX - 1), n(UINT64_MAX)));
  EXPECT_FALSE(fails(">18446744073709551614", n(0), n(UINT64_MAX - 1)));
}

TEST_F(GateTest, HasNoRoundingErrorOnDecimalLimits) {
  EXPECT_FALSE(fails(">0.3", 0.0, 0.3));
  EXPECT_TRUE(fails("==0.3", 0.0, 0.3));
}

TEST_F(GateTest, HasWholeLimitsForWholeFiguresAndJudgesTheSame) {
  EXPECT_EQ(outcome(">+5%", n(101), n(106)).limit, 106.0L);  // 106.05
  EXPECT_EQ(outcome("<=+5%", n(101), n(106)).limit, 106.0L);
  EXPECT_EQ(outcome(">=+5%", n(101), n(106)).limit, 107.0L);
  EXPECT_EQ(outcome("<+5%", n(101), n(106)).limit, 107.0L);
  EXPECT_FALSE(fails(">+5%", n(101), n(106)));
  EXPECT_FALSE(fails(">=+5%", n(101), n(106)));
  EXPECT_TRUE(fails("<+5%", n(101), n(106)));
}

TEST_F(GateTest, MeasuresANegativeBaseByItsSize) {
  EXPECT_TRUE(fails(">+10%", -1.0, -0.5));
  EXPECT_FALSE(fails(">+10%", -1.0, -1.0));
}

TEST_F(GateTest, SkipsARunWithoutTheMetric) {
  EXPECT_EQ(outcome(">5", {}, {}).state, GateState::kSkipped);
}

TEST_F(GateTest, FailsWhereTheNewRunLostTheMetric) {
  const GateOutcome lost = outcome(">5", n(1), {});
  EXPECT_EQ(lost.state, GateState::kFailed);
  EXPECT_EQ(lost.detail, "the new run has no counters.x");
}

TEST_F(GateTest, FailsWhereAChangeHasNoBase) {
  EXPECT_EQ(outcome(">+5%", {}, n(1)).detail, "the base run has no counters.x");
}

TEST_F(GateTest, SaysWhatBecameOfABaseThatFailed) {
  auto base = run_figures("glibc");
  base.failure = "at #7: it died";
  const GateOutcome outcome = evaluate(*parse_gate("counters.x>+5%"), base, run_figures("glibc"));
  EXPECT_EQ(outcome.state, GateState::kFailed);
  EXPECT_EQ(outcome.detail, "the base run failed at #7: it died");
}

TEST_F(GateTest, NeedsNoBaseForAnAbsoluteValue) {
  EXPECT_FALSE(fails(">5", {}, n(1)));
}

TEST_F(GateTest, ReportsWhatItCompared) {
  const auto base = run_figures("jemalloc", {{"peak.liveBytes", n(1000)}});
  const auto now = run_figures("jemalloc", {{"peak.liveBytes", n(1234)}});
  const GateOutcome outcome = evaluate(*parse_gate("peak.liveBytes>+5%"), base, now);
  EXPECT_EQ(outcome.run, "jemalloc");
  EXPECT_EQ(outcome.limit, 1050.0L);
  EXPECT_EQ(outcome.detail, "new 1,234 B, limit 1,050 B, base 1,000 B");
}

TEST_F(GateTest, TakesAChangeFrom0ForAsLargeAsCanBeInItsDirection) {
  EXPECT_TRUE(fails(">+5%", n(0), MetricValue(1.0)));
  EXPECT_FALSE(fails(">+5%", n(0), MetricValue(-1.0)));
  EXPECT_TRUE(fails("<-5%", n(0), MetricValue(-1.0)));
}

}  // namespace
}  // namespace heaptape::replayer
