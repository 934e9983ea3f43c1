#include "replayer/diff/cohort_diff.h"

#include <gtest/gtest.h>

#include "replayer/diff/diff.h"
#include "replayer/diff/diff_format.h"
#include "replayer/diff/diff_table.h"
#include "tests/support/reports.h"

namespace heaptape::replayer {
namespace {

using schema::CohortFigures;
using schema::LiveCohorts;

// Blocks of one size, as many in each of these windows of a thousand calls.
std::vector<CohortFigures> blocks(uint64_t size, uint64_t count, uint32_t first, uint32_t last) {
  std::vector<CohortFigures> list;
  for (uint32_t window = first; window <= last; ++window) {
    list.push_back({.size_bytes = size,
                    .window = window,
                    .count = count,
                    .bytes = size * count,
                    .first_birth = window * 1000 + 1,
                    .last_birth = window * 1000 + 999});
  }
  return list;
}
// Of one band of sizes, or of all.
std::vector<CohortFigures> others(uint64_t bytes, uint64_t least = 0) {
  return {{.size_bytes = least,
           .is_other_sizes = true,
           .count = bytes / 8,
           .bytes = bytes,
           .first_birth = 1,
           .last_birth = 2}};
}
std::vector<CohortFigures> operator+(std::vector<CohortFigures> a,
                                     const std::vector<CohortFigures>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
// Of the end alone.
std::vector<CohortChanges> diff_ends(std::vector<CohortFigures> base,
                                     std::vector<CohortFigures> now) {
  return diff_cohorts({{}, std::move(base)}, {{}, std::move(now)});
}

TEST(CohortDiff, SaysNothingWhereNothingChanged) {
  EXPECT_TRUE(diff_ends(blocks(64, 10, 0, 15), blocks(64, 10, 0, 15)).empty());
}

TEST(CohortDiff, NamesTheSizeThatGrewMostAndWhenItWasAskedFor) {
  const auto changes = diff_ends(
      blocks(64, 10, 0, 15) + blocks(100, 5, 0, 0),
      blocks(64, 10, 0, 3) + blocks(64, 1000, 4, 7) + blocks(64, 10, 8, 15) + blocks(100, 6, 0, 0));
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].sizes.at(0).size_bytes, 64u);
  EXPECT_EQ(
      blocks_text(changes[0]),
      "+3,960 blocks of 64 B alive at the end, requested between #4,001 and #7,999: +247.5 KiB");
}

TEST(CohortDiff, NamesWhatWentByWhenTheBaseAskedForIt) {
  const auto changes = diff_ends(blocks(64, 10, 2, 2) + blocks(32, 1, 0, 0), blocks(32, 1, 0, 0));
  EXPECT_EQ(blocks_text(changes.at(0)),
            "-10 blocks of 64 B alive at the end, requested between #2,001 and #2,999: -640 B");
}

TEST(CohortDiff, LeavesOutWindowsWithLittleOfTheChange) {
  const auto changes = diff_ends({}, blocks(64, 1, 0, 0) + blocks(64, 1000, 9, 9));
  EXPECT_EQ(blocks_text(changes.at(0)),
            "+1,001 blocks of 64 B alive at the end, requested mostly between #9,001 and #9,999: "
            "+62.6 KiB");
}

TEST(CohortDiff, TellsAllWindowsWhereFewerWouldNotBeHalfOfThem) {
  const auto changes = diff_ends({}, blocks(64, 10, 0, 15));
  EXPECT_EQ(blocks_text(changes.at(0)),
            "+160 blocks of 64 B alive at the end, requested between #1 and #15,999: +10.0 KiB");
}

TEST(CohortDiff, TellsFewerWindowsWhereTheyAreHalfOfThem) {
  const auto half = diff_ends({}, blocks(64, 100, 0, 3) + blocks(64, 1, 7, 7));
  EXPECT_NE(blocks_text(half.at(0)).find("requested mostly between #1 and #3,999"),
            std::string::npos)
      << blocks_text(half[0]);
  const auto more = diff_ends({}, blocks(64, 100, 0, 4) + blocks(64, 1, 7, 7));
  EXPECT_NE(blocks_text(more.at(0)).find("requested between #1 and #7,999"), std::string::npos)
      << blocks_text(more[0]);
}

TEST(CohortDiff, DoesNotTellSizesApartThatOneSideDoesNot) {
  const auto changes = diff_ends(others(800), blocks(64, 100, 0, 0) + others(400));
  ASSERT_EQ(changes.at(0).sizes.size(), 1u);
  EXPECT_TRUE(changes[0].sizes[0].is_other_sizes);
  EXPECT_EQ(changes[0].sizes[0].now_bytes, 6800u);
  EXPECT_TRUE(blocks_text(changes[0]).starts_with("+50 blocks of many sizes alive at the end"));
}

TEST(CohortDiff, NamesTheBandOfSizesThatOneSideDoesNotTellApart) {
  const auto changes = diff_ends(others(800, 64) + others(5000, 128),
                                 blocks(64, 100, 0, 0) + others(400, 64) + others(5000, 128));
  ASSERT_EQ(changes.at(0).sizes.size(), 1u);
  EXPECT_EQ(changes[0].sizes[0].size_bytes, 64u);
  EXPECT_TRUE(changes[0].sizes[0].is_other_sizes);
  EXPECT_TRUE(blocks_text(changes[0]).starts_with("+50 blocks of 64 B to 127 B alive at the end"));
}

TEST(CohortDiff, NamesASizeOfWhichTheOtherSideHasNoneOrFew) {
  const auto none = diff_ends(others(800, 128), blocks(64, 100, 0, 0) + others(800, 128));
  EXPECT_TRUE(blocks_text(none.at(0)).starts_with("+100 blocks of 64 B alive at the end"));
  const auto few = diff_ends(others(640, 64), blocks(64, 100, 0, 0) + others(640, 64));
  EXPECT_TRUE(blocks_text(few.at(0)).starts_with("about +100 blocks of 64 B alive at the end"))
      << blocks_text(few.at(0));
  const auto many = diff_ends(others(648, 64), blocks(64, 100, 0, 0) + others(648, 64));
  EXPECT_TRUE(blocks_text(many.at(0)).starts_with("+100 blocks of 64 B to 127 B alive"));
  const auto gone = diff_ends(blocks(64, 100, 0, 0), others(8, 64));
  EXPECT_TRUE(blocks_text(gone.at(0)).starts_with("about -100 blocks of 64 B alive at the end"));
}

TEST(CohortDiff, AddsUpWhateverIsToldApart) {
  for (const uint64_t hidden : {8, 640, 6000}) {
    const auto changes = diff_ends(others(hidden, 64) + others(80, 4096),
                                   blocks(64, 100, 0, 0) + blocks(5000, 2, 0, 3))
                             .at(0);
    uint64_t base = 0;
    uint64_t now = 0;
    for (const CohortChange& change : changes.sizes) {
      base += change.base_bytes;
      now += change.now_bytes;
    }
    EXPECT_EQ(base, changes.base) << hidden;
    EXPECT_EQ(now, changes.now) << hidden;
  }
}

TEST(CohortDiff, UnderstandsTheOtherSizesOfReportsOfOld) {
  const auto changes = diff_ends(others(80), blocks(64, 1000, 0, 0) + others(1600, 1024));
  EXPECT_TRUE(blocks_text(changes.at(0)).starts_with("about +1,000 blocks of 64 B alive"));
  EXPECT_EQ(sizes_text(changes[0].sizes.at(1)), "many sizes");
}

TEST(CohortDiff, ComparesThePeakAndTheEnd) {
  const LiveCohorts base{blocks(64, 1, 0, 0), blocks(64, 1, 0, 0)};
  const LiveCohorts now{blocks(64, 2, 0, 0), blocks(64, 3, 0, 0)};
  const auto changes = diff_cohorts(base, now);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].moment, "peak");
  EXPECT_EQ(changes[1].words, "bytes at the end");
}

// At the end there are 10 blocks of 64 bytes in the base, and a thousand now.
ReportDiff sample_diff(const char* gate) {
  const auto run = [](uint64_t bytes) {
    return tests::run_figures("glibc", {{"end.liveBytes", bytes}, {"time.nsPerEvent", bytes}});
  };
  auto base = tests::named_report("main.json", {run(640)});
  auto now = tests::named_report("branch.json", {run(64'000)});
  base.figures.cohorts = LiveCohorts{{}, blocks(64, 10, 0, 0)};
  now.figures.cohorts = LiveCohorts{{}, blocks(64, 1000, 0, 0)};
  return *diff_reports(base, now, {*parse_gate(gate)}, "");
}

constexpr char kBirthsReason[] =
    "+990 blocks of 64 B alive at the end, requested between #1 and #999: +61.9 KiB";

TEST(CohortDiff, IsATableForPeopleAndAReason) {
  const std::string text = to_text(sample_diff("end.liveBytes>+5%"));
  EXPECT_NE(text.find(R"(
blocks that account for the change of bytes at the end
  size   blocks in base  in new     change   requested
  64 B               10   1,000  +61.9 KiB  #1 to #999
  total              10   1,000  +61.9 KiB
)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(std::string("\n") + kBirthsReason + "\n\nFAIL"), std::string::npos) << text;
}

TEST(CohortDiff, IsATableThatAddsUp) {
  std::vector<CohortFigures> base;
  std::vector<CohortFigures> now = blocks(64, 1, 0, 0) + blocks(64, 1000, 9, 9);
  for (const uint64_t size : {100, 200, 300, 400, 500, 600}) {
    base = base + blocks(size, 1, 0, 0);
    now = now + blocks(size, 2, 0, 0);
  }
  const std::vector<TableRow> table = diff_table(diff_ends(base, now).at(0));
  ASSERT_EQ(table.size(), 8u);
  EXPECT_EQ(table[1].back(), "mostly #9,001 to #9,999");
  EXPECT_EQ(table[6], (TableRow{"(other sizes that changed)", "2", "4", "+300 B", ""}));
  EXPECT_EQ(table[7][3], "+64.6 KiB");
}

TEST(CohortDiff, IsTheReasonOfGatesAtTheEndAndAtTheExit) {
  const ReportDiff diff = sample_diff("end.liveBytes>+5%");
  GateOutcome gate = diff.gates.at(0);
  for (const char* const metric : {"end.holes.bytes", "atExit.residentBytes"}) {
    gate.metric = metric;
    EXPECT_EQ(reasons_text(diff, gate), std::vector<std::string>{kBirthsReason}) << metric;
  }
  gate.metric = "peak.liveBytes";
  EXPECT_TRUE(reasons_text(diff, gate).empty());
}

TEST(CohortDiff, IsSaidFirstInMarkdown) {
  const std::string text = to_markdown(sample_diff("end.liveBytes>+5%"));
  EXPECT_TRUE(
      text.starts_with("**heaptape diff: FAIL: 1 of 1 gate check failed, 1 run compared**\n"
                       "\nWhy gates failed:\n\n- +990 blocks of 64 B alive at the end"))
      << text;
}

TEST(CohortDiff, IsInTheTextOfAFailureInJunit) {
  EXPECT_NE(
      to_junit(sample_diff("end.liveBytes>+5%")).find(std::string("; ") + kBirthsReason + "\">"),
      std::string::npos);
}

TEST(CohortDiff, IsWholeInJson) {
  const std::string json = *to_json(sample_diff("end.liveBytes>+5%"));
  EXPECT_NE(json.find(R"("sizeBytes": 64, "sizeBand": null, "isAbout": false, "baseCount": 10,)"),
            std::string::npos)
      << json;
  EXPECT_NE(
      json.find(R"("newCount": 1000, "baseBytes": 640, "newBytes": 64000, "shareOfChange": 1)"),
      std::string::npos)
      << json;
  EXPECT_NE(json.find(R"("firstBirth": 1, "lastBirth": 999)"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("reasons": ["+990 blocks)"), std::string::npos) << json;
}

TEST(CohortDiff, IsInJsonWithTheBandAndWhatIsAbout) {
  auto base = tests::named_report("main.json", {tests::run_figures("glibc")});
  auto now = base;
  base.figures.cohorts = LiveCohorts{{}, others(80, 64) + others(4000, 1024)};
  now.figures.cohorts = LiveCohorts{{}, blocks(64, 1000, 0, 0) + others(5000, 1024)};
  const std::string json = *to_json(*diff_reports(base, now, {}, ""));
  EXPECT_NE(json.find(R"("sizeBytes": 64, "sizeBand": null, "isAbout": true)"), std::string::npos)
      << json;
  EXPECT_NE(json.find(R"("sizeBytes": null, "sizeBand": 1024, "isAbout": false)"),
            std::string::npos)
      << json;
}

TEST(CohortDiff, GivesNoReasonWhereNothingFailedAndNoneForTimes) {
  EXPECT_EQ(to_text(sample_diff("end.liveBytes>+500M")).find("\n+990"), std::string::npos);
  EXPECT_EQ(to_text(sample_diff("time.nsPerEvent>+5%")).find("\n+990"), std::string::npos);
}

}  // namespace
}  // namespace heaptape::replayer
