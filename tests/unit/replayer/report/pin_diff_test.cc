// What diffs say of holes: which blocks stand beside those that came.
#include <gtest/gtest.h>

#include "replayer/report/diff.h"
#include "replayer/report/diff_format.h"
#include "replayer/report/diff_table.h"
#include "tests/support/reports.h"

namespace heaptape::replayer {
namespace {

using schema::CohortFigures;
using schema::PinCohorts;

constexpr char kReason[] =
    "glibc: resident bytes in holes at the plateau: +58.6 KiB, 100.0% of it beside blocks of 64 B "
    "asked for between #1 and #999";

// `bytes` of holes beside ten blocks of 64 bytes.
PinCohorts pins(const std::string& state, uint64_t bytes) {
  return {state,
          {{.size_bytes = 64, .count = 10, .bytes = bytes, .first_birth = 1, .last_birth = 999}}};
}

class PinDiff : public testing::Test {
 protected:
  PinDiff() {
    base_.pins = {pins("atPeak", 100), pins("atPlateau", 40'000)};
    now_.pins = {pins("atPeak", 100), pins("atPlateau", 100'000)};
  }
  // A gate on a figure that was 1,000,000 and became `figure`.
  ReportDiff diff(const std::string& metric, uint64_t figure) {
    base_.metrics = {{metric, uint64_t{1'000'000}}};
    now_.metrics = {{metric, figure}};
    return *diff_reports(tests::named_report("a", {base_}), tests::named_report("b", {now_}),
                         {*parse_gate(metric + " != +0")}, "");
  }
  std::vector<std::string> reasons(const std::string& metric, uint64_t figure) {
    return reasons_text(diff(metric, figure));
  }

  schema::RunFigures base_ = tests::run_figures("glibc");
  schema::RunFigures now_ = tests::run_figures("glibc");
};

TEST_F(PinDiff, NamesTheBlocksBesideHolesThatCame) {
  for (const char* const metric : {"atPlateau.holes.bytes", "atPlateau.residentHoleBytes",
                                   "atPlateau.fragmentation", "atPlateau.residentBytes"}) {
    EXPECT_EQ(reasons(metric, 1'060'000), std::vector<std::string>{kReason}) << metric;
  }
}

TEST_F(PinDiff, SaysNothingOfAMomentWhoseHolesAreTheSame) {
  EXPECT_TRUE(reasons("peak.holes.bytes", 1'060'000).empty());
}

TEST_F(PinDiff, SaysNothingOfFiguresThatHolesAreNoPartOf) {
  EXPECT_TRUE(reasons("atPlateau.liveBytes", 1'060'000).empty());
}

TEST_F(PinDiff, SaysNothingWhereHolesChangedTheOtherWay) {
  EXPECT_TRUE(reasons("atPlateau.residentBytes", 940'000).empty());
}

TEST_F(PinDiff, SaysNothingWhereHolesAreLessThanAQuarterOfTheChange) {
  EXPECT_EQ(reasons("atPlateau.residentBytes", 1'240'000).size(), 1u);
  EXPECT_TRUE(reasons("atPlateau.residentBytes", 1'240'001).empty());
}

TEST_F(PinDiff, TakesThePeakForThatOfAnyFigure) {
  now_.pins[0] = pins("atPeak", 60'100);
  const auto all = reasons("peak.committedBytes", 1'060'000);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_NE(all[0].find("in holes at the peak: +58.6 KiB"), std::string::npos) << all[0];
  EXPECT_EQ(reasons("peak.distanceToIdeal", 1'060'000), all);
}

TEST_F(PinDiff, KnowsHolesThatCameFromNone) {
  base_.pins[1].cohorts.clear();
  const auto all = reasons("atPlateau.holes.bytes", 1'100'000);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_NE(all[0].find("+97.7 KiB, 100.0% of it beside blocks of 64 B"), std::string::npos);
}

TEST_F(PinDiff, KnowsNothingOfAReportOfOld) {
  base_.pins.clear();
  EXPECT_TRUE(reasons("atPlateau.holes.bytes", 1'100'000).empty());
}

TEST_F(PinDiff, IsATableForPeopleOnlyWhereAGateFailed) {
  const std::string heading =
      "\nbeside the holes of glibc: blocks that account for the change of resident bytes in holes "
      "at the plateau\n";
  EXPECT_NE(to_text(diff("atPlateau.holes.bytes", 1'060'000)).find(heading), std::string::npos);
  EXPECT_EQ(to_text(diff("atPlateau.holes.bytes", 1'000'000)).find(heading), std::string::npos);
}

TEST_F(PinDiff, IsOneTableForTwoGatesOnTheHolesOfAMoment) {
  ReportDiff twice = diff("atPlateau.holes.bytes", 1'060'000);
  ASSERT_EQ(pin_tables(twice).size(), 1u);
  twice.gates.push_back(twice.gates[0]);
  EXPECT_EQ(pin_tables(twice).size(), 1u);
}

TEST_F(PinDiff, IsFoldedInMarkdown) {
  const std::string text = to_markdown(diff("atPlateau.holes.bytes", 1'060'000));
  EXPECT_NE(text.find("<details><summary>Beside the holes of glibc: blocks"), std::string::npos)
      << text;
}

TEST_F(PinDiff, IsInJsonWithAllStates) {
  const std::string json = *to_json(diff("atPlateau.holes.bytes", 1'060'000));
  EXPECT_NE(json.find(R"("pins": [{ "moment": "atPlateau",)"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("baseBytes": 40000, "newBytes": 100000)"), std::string::npos) << json;
}

}  // namespace
}  // namespace heaptape::replayer
