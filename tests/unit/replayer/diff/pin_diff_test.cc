// What diffs say of holes: which blocks stand beside those that came.
#include <gtest/gtest.h>

#include "replayer/diff/diff.h"
#include "replayer/diff/diff_format.h"
#include "replayer/diff/diff_table.h"
#include "tests/support/reports.h"

namespace heaptape::replayer {
namespace {

using schema::CohortFigures;
using schema::PinCohorts;

constexpr char kReason[] =
    "glibc: resident bytes in holes at the plateau: +58.6 KiB, 100.0% of it beside blocks of 64 B "
    "requested between #1 and #999";

// `bytes` of holes beside ten blocks of 64 bytes.
PinCohorts pins(const std::string& state, uint64_t bytes) {
  return {{state},
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
  for (const char* const metric :
       {"atPlateau.holes.bytes", "atPlateau.residentHoleBytes", "atPlateau.residentBytes"}) {
    EXPECT_EQ(reasons(metric, 1'060'000), std::vector<std::string>{kReason}) << metric;
  }
}

// Free memory that came, of which holes are 60,000 bytes.
TEST_F(PinDiff, IsTheReasonOfFragmentationWhereHolesAreAGoodPartOfWhatIsFree) {
  for (const uint64_t committed : {1'240'000, 1'240'001}) {
    base_.metrics = {{"atPlateau.fragmentation", 0.1},
                     {"atPlateau.committedBytes", uint64_t{1'000'000}},
                     {"atPlateau.liveBytes", uint64_t{500'000}}};
    now_.metrics = {{"atPlateau.fragmentation", 0.2},
                    {"atPlateau.committedBytes", committed},
                    {"atPlateau.liveBytes", uint64_t{500'000}}};
    const auto diff =
        diff_reports(tests::named_report("a", {base_}), tests::named_report("b", {now_}),
                     {*parse_gate("atPlateau.fragmentation>+1%")}, "");
    EXPECT_EQ(reasons_text(*diff).size(), committed == 1'240'000 ? 1u : 0u) << committed;
  }
}

TEST_F(PinDiff, SaysHowManyBytesWhereOthersChangedTheOtherWay) {
  base_.pins[1].cohorts.push_back(
      {.size_bytes = 4096, .count = 1, .bytes = 90'000, .first_birth = 7, .last_birth = 7});
  now_.pins[1] = pins("atPlateau", 150'000);
  EXPECT_EQ(reasons("atPlateau.holes.bytes", 1'020'000),
            std::vector<std::string>{
                "glibc: resident bytes in holes at the plateau: +19.5 KiB: +107.4 KiB beside "
                "blocks of 64 B requested between #1 and #999, -87.9 KiB beside others"});
}

TEST_F(PinDiff, NamesNoSizeThatHasASmallPartOfTheChange) {
  for (uint64_t i = 1; i <= 6; ++i) {
    now_.pins[1].cohorts.push_back(
        {.size_bytes = i * 100, .count = 1, .bytes = 60'000, .first_birth = i, .last_birth = i});
  }
  EXPECT_EQ(
      reasons("atPlateau.holes.bytes", 1'420'000),
      std::vector<std::string>{"glibc: resident bytes in holes at the plateau: +410.2 KiB, "
                               "beside blocks of many sizes, at most 14.3% of it beside one"});
}

TEST_F(PinDiff, IsSaidOnceOfStatesThatAreOneCall) {
  base_.pins[1].states = {"atPlateau", "atExit", "end"};
  now_.pins[1].states = {"atPlateau", "atExit", "end"};
  for (const char* const metric :
       {"atPlateau.holes.bytes", "atExit.holes.bytes", "end.holes.bytes"}) {
    const auto all = reasons(metric, 1'060'000);
    ASSERT_EQ(all.size(), 1u) << metric;
    EXPECT_NE(all[0].find("in holes at the plateau, the exit and the end: +58.6 KiB"),
              std::string::npos)
        << all[0];
  }
}

TEST_F(PinDiff, TellsStatesApartThatAreOneCallInOneReportAlone) {
  base_.pins = {pins("atPlateau", 100)};
  base_.pins[0].states = {"atPlateau", "end"};
  now_.pins = {pins("atPlateau", 200), pins("end", 300)};
  const auto changes = diff_pins(base_.pins, now_.pins);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].states, std::vector<std::string>{"atPlateau"});
  EXPECT_EQ(changes[1].words, "resident bytes in holes at the end");
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
}

// Free memory that came at the peak, of which holes are 60,000 bytes.
TEST_F(PinDiff, IsTheReasonOfTheDistanceToIdeal) {
  now_.pins[0] = pins("atPeak", 60'100);
  base_.metrics = {{"peak.distanceToIdeal", 1.1}, {"peak.committedBytes", uint64_t{1'000'000}}};
  now_.metrics = {{"peak.distanceToIdeal", 1.2}, {"peak.committedBytes", uint64_t{1'100'000}}};
  const auto diff =
      diff_reports(tests::named_report("a", {base_}), tests::named_report("b", {now_}),
                   {*parse_gate("peak.distanceToIdeal>+1%")}, "");
  EXPECT_EQ(reasons_text(*diff).size(), 1u);
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
  EXPECT_NE(json.find(R"("pins": [{ "states": ["atPlateau"],)"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("baseBytes": 40000, "newBytes": 100000)"), std::string::npos) << json;
}

}  // namespace
}  // namespace heaptape::replayer
