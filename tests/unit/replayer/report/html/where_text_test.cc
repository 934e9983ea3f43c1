#include "replayer/report/html/where_text.h"

#include <gtest/gtest.h>

#include "replayer/report/run_summary.h"
#include "tests/support/reports.h"

namespace heaptape::replayer {
namespace {

using tests::run_figures;

schema::RunFigures whole_run(const std::string& label = "glibc") {
  return run_figures(label, {{"peak.committedBytes", uint64_t{8192}},
                             {"peak.liveBytes", uint64_t{4096}},
                             {"atExit.liveBytes", uint64_t{3000}},
                             {"atExit.slackBytes", uint64_t{0}},
                             {"atExit.account.holeBytes", uint64_t{1000}},
                             {"atExit.account.returnedBytes", uint64_t{2048}}});
}

TEST(WhereText, HasTheSharesOfTheParts) {
  const schema::RunFigures run = whole_run();
  EXPECT_EQ(where_it_is(&run, "atExit"),
            "The 3.91 KiB resident on glibc at the exit: 75.0% live, 25.0% holes between blocks; "
            "another 2.00 KiB were returned to the system.");
}

TEST(WhereText, TakesEachPartFromItsOwnFigure) {
  const auto run = run_figures("glibc", {{"atExit.liveBytes", uint64_t{60}},
                                         {"atExit.slackBytes", uint64_t{100}},
                                         {"atExit.account.metadataBytes", uint64_t{150}},
                                         {"atExit.account.cachedBytes", uint64_t{200}},
                                         {"atExit.account.holeBytes", uint64_t{240}},
                                         {"atExit.account.topBytes", uint64_t{260}},
                                         {"atExit.account.untouchedBytes", uint64_t{10}}});
  EXPECT_EQ(where_it_is(&run, "atExit"),
            "The 1000 B resident on glibc at the exit: 26.0% free at the ends of regions, 24.0% "
            "holes between blocks, 20.0% cached for reuse, 15.0% the allocator's own, 10.0% slack "
            "within blocks, 5.0% live.");
}

TEST(WhereText, CallsNothingResidentOfTheRunItself) {
  schema::RunFigures run = whole_run("the server");
  run.backend = "recorded";
  EXPECT_TRUE(where_it_is(&run, "atExit").starts_with("The 3.91 KiB in the heap of the server"));
}

TEST(WhereText, TakesLiveBytesThatWereNeverTouchedForNotResident) {
  EXPECT_EQ(
      parts_text(
          {.live_bytes = 2048, .slack_bytes = 100, .hole_bytes = 1024, .untouched_bytes = 1024},
          "here"),
      "The 2.10 KiB here: 47.7% live, 47.7% holes between blocks, 4.7% slack within blocks.");
  EXPECT_EQ(parts_text({.live_bytes = 10, .slack_bytes = 100, .untouched_bytes = 60}, "here"),
            "The 50 B here: 100.0% slack within blocks.");
}

TEST(WhereText, TellsMostFirstAndLeavesOutWhatIsLessThanAHundredth) {
  EXPECT_EQ(parts_text({.live_bytes = 300, .metadata_bytes = 5, .hole_bytes = 695}, "here"),
            "The 1000 B here: 69.5% holes between blocks, 30.0% live.");
}

TEST(WhereText, IsEmptyWithoutARun) {
  EXPECT_EQ(where_it_is(nullptr, "atExit"), "");
}

// A report of a process with so much, of which malloc has a part.
schema::ReportFigures process_report(uint64_t anonymous, std::optional<uint64_t> of_malloc,
                                     uint64_t live = 0) {
  schema::ReportFigures report;
  report.moments = {
      {"peak", 10, 5'000'000, schema::ProcessFigures{4'000'000, anonymous, of_malloc}},
      {"end", 20, 0, schema::ProcessFigures{9'000'000, anonymous, of_malloc}}};
  report.runs = {
      run_figures("glibc", {{"atPeak.liveBytes", live}, {"atPeak.liveCount", uint64_t{1}}})};
  return report;
}

constexpr uint64_t kMiB = 1 << 20;

TEST(BesideMalloc, IsSaidFromAFifthOn) {
  EXPECT_EQ(beside_malloc(process_report(10 * kMiB, 8 * kMiB)),
            "at the peak, 2.00 MiB of 10.0 MiB anonymous memory (20.0%) is beside malloc: another "
            "allocator cannot change that");
  EXPECT_EQ(beside_malloc(process_report(10 * kMiB, 8 * kMiB + 1)), "");
}

TEST(BesideMalloc, NamesAnOwnerOfAtLeastHalf) {
  schema::ReportFigures report = process_report(10 * kMiB, 2 * kMiB);
  auto& owners = report.moments[0].process->owners;
  owners = {{"python3.11", 4 * kMiB}, {"libarrow", kMiB}};
  EXPECT_EQ(beside_malloc(report),
            "at the peak, 8.00 MiB of 10.0 MiB anonymous memory (80.0%) is beside malloc, 4.00 MiB "
            "of it python3.11's: another allocator cannot change that");
  owners[0].bytes -= 1;
  EXPECT_TRUE(
      beside_malloc(report).ends_with("is beside malloc: another allocator cannot change "
                                      "that"));
  owners = {{"data", 5 * kMiB}};
  EXPECT_NE(beside_malloc(report).find(", 5.00 MiB of it variables of programs and libraries:"),
            std::string::npos);
}

TEST(BesideMalloc, HasRemediesWhereItIsMuch) {
  schema::ReportFigures report = process_report(10 * kMiB, 8 * kMiB);
  report.remedies = {"1", "2", "3", "4", "5"};
  EXPECT_EQ(remedies(report), (std::vector<std::string>{"1", "2", "3", "4"}));
  report.moments[0].process->malloc_bytes = 8 * kMiB + 1;
  EXPECT_TRUE(remedies(report).empty());
}

TEST(BesideMalloc, IsSaidFromAMebibyteOn) {
  EXPECT_NE(beside_malloc(process_report(kMiB, 0)), "");
  EXPECT_EQ(beside_malloc(process_report(kMiB - 1, 0)), "");
}

TEST(BesideMalloc, IsUnknownWithoutASampleThatTells) {
  EXPECT_EQ(beside_malloc(process_report(10 * kMiB, {})), "");
  EXPECT_EQ(beside_malloc({}), "");
}

// Long before or after it.
TEST(BesideMalloc, IsUnknownWhereTheSampleMissedThePeak) {
  EXPECT_EQ(beside_malloc(process_report(10 * kMiB, kMiB, 2 * kMiB + 2)), "");
  EXPECT_NE(beside_malloc(process_report(10 * kMiB, kMiB, 2 * kMiB)), "");
  EXPECT_FALSE(malloc_has_less_than_half(process_report(10 * kMiB, kMiB, 2 * kMiB + 2)));
}

// A program that hardly calls malloc may do so before it has any memory.
TEST(BesideMalloc, IsSaidOfThePeakOfTheProcessWhereThatIsTwiceAsLarge) {
  schema::ReportFigures report = process_report(10 * kMiB, 9 * kMiB);
  report.largest = schema::ProcessFigures{6'000'000, 20 * kMiB, kMiB};
  EXPECT_EQ(beside_malloc(report),
            "at the peak of the process, 19.0 MiB of 20.0 MiB anonymous memory (95.0%) is beside "
            "malloc: another allocator cannot change that");
  EXPECT_TRUE(malloc_has_less_than_half(report));
  report.largest->anonymous_bytes -= 2;
  EXPECT_EQ(beside_malloc(report), "");
  EXPECT_FALSE(malloc_has_less_than_half(report));
}

TEST(BesideMalloc, IsSaidOfThePeakOfTheProcessWhereTheSampleMissedMallocs) {
  schema::ReportFigures report = process_report(10 * kMiB, kMiB, 4 * kMiB);
  report.largest = schema::ProcessFigures{6'000'000, 10 * kMiB, kMiB};
  EXPECT_TRUE(beside_malloc(report).starts_with("at the peak of the process, 9.00 MiB of 10.0"));
  report.largest->anonymous_bytes = 8 * kMiB - 2;  // malloc's peak may be as large
  EXPECT_EQ(beside_malloc(report), "");
  report.largest = schema::ProcessFigures{6'000'000, 10 * kMiB, {}};
  EXPECT_EQ(beside_malloc(report), "");
}

TEST(BesideMalloc, DecidesFromAHalfOnWhetherARunIsTheBest) {
  EXPECT_FALSE(malloc_has_less_than_half(process_report(10 * kMiB, 5 * kMiB)));
  EXPECT_TRUE(malloc_has_less_than_half(process_report(10 * kMiB, 5 * kMiB - 1)));
  EXPECT_TRUE(malloc_has_less_than_half(process_report(kMiB, 0)));
  EXPECT_FALSE(malloc_has_less_than_half(process_report(kMiB - 1, 0)));
  EXPECT_FALSE(malloc_has_less_than_half(process_report(10 * kMiB, {})));
}

TEST(MomentLines, SayHowFarFromTheSampleTheyAre) {
  const std::string text = moment_lines(process_report(10 * kMiB, 4 * kMiB));
  EXPECT_NE(text.find("\n  process, 1.00 ms before: 10.0 MiB anonymous = malloc 4.00 MiB + beside "
                      "malloc 6.00 MiB\nend: #20"),
            std::string::npos)
      << text;
  EXPECT_TRUE(
      text.ends_with("\n  process: 10.0 MiB anonymous = malloc 4.00 MiB + beside malloc "
                     "6.00 MiB\n"))
      << text;
  EXPECT_EQ(moment_lines(process_report(10 * kMiB, {})).find("process"), std::string::npos);
}

TEST(MomentLines, NameTheOwnersOfMemoryBesideMalloc) {
  schema::ReportFigures report = process_report(10 * kMiB, 4 * kMiB);
  report.moments[1].process->owners = {{"libarrow", 5 * kMiB}};
  EXPECT_TRUE(moment_lines(report).ends_with(
      "\n  process: 10.0 MiB anonymous = malloc 4.00 MiB + libarrow 5.00 MiB + other 1.00 MiB\n"));
}

}  // namespace
}  // namespace heaptape::replayer
