#include "replayer/report/html/verdict.h"

#include <gtest/gtest.h>

#include "tests/support/reports.h"
#include "tests/support/stack_tapes.h"

namespace heaptape::replayer {
namespace {

using tests::run_figures;

schema::ReportFigures report_of(std::vector<schema::RunFigures> runs) {
  return {.tape_path = "a.tape", .tape_events = 1, .runs = std::move(runs)};
}

schema::RunFigures whole_run() {
  return run_figures("glibc", {{"peak.committedBytes", uint64_t{8192}},
                               {"peak.liveBytes", uint64_t{4096}},
                               {"atExit.liveBytes", uint64_t{3000}},
                               {"atExit.slackBytes", uint64_t{0}},
                               {"atExit.account.holeBytes", uint64_t{1000}},
                               {"atExit.account.returnedBytes", uint64_t{2048}}});
}

TEST(Verdict, NamesTheRunThatHoldsLeast) {
  EXPECT_EQ(
      verdict({}, {{"atPeak", "a", "1 B", "b", "2 B"}, {"atPlateau", "b", "3 B", "a", "4 B"}}),
      "a holds least resident memory at the peak (1 B; next is b with 2 B); b at the plateau "
      "(3 B; next is a with 4 B).");
}

TEST(Verdict, SaysItOnceOfOneThatHoldsLeastAlways) {
  EXPECT_EQ(verdict({}, {{"atPeak", "a", "1 B", "b", "2 B"}, {"atExit", "a", "3 B", "b", "4 B"}}),
            "a holds least resident memory at the peak (1 B; next is b with 2 B), and at the exit "
            "(3 B; next is b with 4 B).");
}

TEST(Verdict, TellsOfOneRunWhatItHolds) {
  EXPECT_EQ(verdict(report_of({whole_run()}), {}),
            "glibc holds 8.00 KiB committed at its peak, for 4.00 KiB that the program had live at "
            "most.");
  EXPECT_EQ(where_it_is(report_of({whole_run()}), {}),
            "Of the 3.91 KiB that glibc keeps at the exit: 75.0% live, 25.0% holes between blocks; "
            "2.00 KiB more are given back.");
}

TEST(Verdict, TellsWhereItIsInTheRunThatHoldsLeastInTheEnd) {
  schema::RunFigures other = whole_run();
  other.label = "jemalloc";
  const std::vector<BestRun> best{{"atPeak", "glibc", "1 B", "jemalloc", "2 B"},
                                  {"atExit", "jemalloc", "3 B", "glibc", "4 B"}};
  for (const auto& report : {report_of({whole_run(), other}), report_of({other, whole_run()})}) {
    EXPECT_NE(where_it_is(report, best).find(" jemalloc "), std::string::npos);
  }
}

TEST(Verdict, PassesOverRunsWithoutMemory) {
  const auto noop = run_figures("noop", {{"peak.committedBytes", uint64_t{0}}});
  EXPECT_TRUE(verdict(report_of({whole_run(), noop}), {}).starts_with("glibc holds 8.00 KiB"));
}

TEST(Verdict, SaysThatNoRunIsWhole) {
  schema::RunFigures failed = run_figures("glibc");
  failed.failure = "at #1: it died";
  EXPECT_EQ(verdict(report_of({failed}), {}),
            "No run with memory of its own came to the end of the tape.");
  EXPECT_EQ(where_it_is(report_of({failed}), {}), "");
}

class WhoHasIt : public testing::Test {
 protected:
  void add(uint32_t stack, uint64_t peak_bytes) {
    const StackTotals totals{.peak_bytes = peak_bytes};
    table_.rows.push_back(
        {.site = sites_.of_stack(stack), .totals = totals, .median_lifetime = {}});
    table_.total += totals;
  }

  Symbols symbols_ = tests::sample_symbols();
  Sites sites_{tests::sample_stacks(), symbols_, {}};
  SiteTable table_;
};

TEST_F(WhoHasIt, IsTheSiteWithMostAtThePeak) {
  add(4, 100);
  add(2, 300);
  EXPECT_EQ(who_has_it(table_, sites_),
            "Of the 400 B live at the peak, 75.0% were asked for by lex (lex.h:3).");
}

TEST_F(WhoHasIt, IsEstimatedWhereStacksAreSampled) {
  add(2, 300);
  table_.sampled.emplace().whole_tape.peak_bytes = 500;
  EXPECT_EQ(who_has_it(table_, sites_),
            "Of the 500 B live at the peak, an estimated 100.0% were asked for by lex (lex.h:3).");
}

TEST_F(WhoHasIt, IsNobodyOfWhomNothingIsKnown) {
  add(0, 300);
  EXPECT_EQ(who_has_it(table_, sites_), "");
}

}  // namespace
}  // namespace heaptape::replayer
