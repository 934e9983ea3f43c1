#include "replayer/diff/diff_format.h"

#include <gtest/gtest.h>

#include <string>

#include "schema/report/report_metrics.h"
#include "tests/support/golden.h"
#include "tests/support/reports.h"

namespace heaptape::replayer {
namespace {

using tests::expect_golden;
using tests::named_report;
using tests::run_figures;

class DiffFormatTest : public testing::Test {
 protected:
  // Two runs, four gates: one of each state and one from 0. Labels that need escapes.
  static ReportDiff sample() {
    auto base =
        named_report("main.json",
                     {run_figures("glibc", {{"peak.committedBytes", uint64_t{104857600}},
                                            {"peak.fragmentation", 0.3},
                                            {"time.nsPerEvent", 81.25},
                                            {"accounting.refused", uint64_t{0}}}),
                      run_figures("a|b <\"&'>", {{"peak.committedBytes", uint64_t{100}},
                                                 {"counters.visited", uint64_t{9007199254740993}}}),
                      run_figures("gone")},
                     7300000);
    auto now = named_report(
        "branch.json",
        {run_figures("glibc", {{"peak.committedBytes", uint64_t{115343360}},
                               {"peak.fragmentation", 0.36},
                               {"time.nsPerEvent", 80.0},
                               {"accounting.refused", uint64_t{2}}}),
         run_figures("a|b <\"&'>", {{"peak.committedBytes", uint64_t{100}},
                                    {"counters.visited", uint64_t{9007199254740993}}})},
        7300001);
    now.figures.runs[0].touch = "none";
    std::vector<Gate> gates;
    for (const char* expression : {"peak.committedBytes > +5%", "counters.visited>10G",
                                   "accounting.refused>+0%", "peak.fragmentation>0.5"}) {
      gates.push_back(*parse_gate(expression));
    }
    auto diff = diff_reports(base, now, gates, "");
    EXPECT_TRUE(diff.ok()) << diff.error().message;
    return std::move(*diff);
  }
};

TEST_F(DiffFormatTest, AlignsTheColumnsOfText) {
  expect_golden("diff.txt", *format_diff(sample(), DiffFormat::kText));
}

TEST_F(DiffFormatTest, WritesMarkdownForAPullRequest) {
  expect_golden("diff.md", *format_diff(sample(), DiffFormat::kMarkdown));
}

TEST_F(DiffFormatTest, WritesEveryMetricToJson) {
  expect_golden("diff.json", *format_diff(sample(), DiffFormat::kJson));
}

TEST_F(DiffFormatTest, WritesATestCaseForEachGateAndRun) {
  expect_golden("diff.junit.xml", *format_diff(sample(), DiffFormat::kJunit));
}

TEST_F(DiffFormatTest, HasAnErrorOfJunitForARunThatFailedWithoutAGate) {
  ReportDiff diff;
  diff.new_failures = 1;
  diff.failed = true;
  const std::string text = to_junit(diff);
  EXPECT_NE(text.find(R"(tests="1" failures="0" errors="1")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"(<error type="replay" message="FAIL: 1 run failed, )"), std::string::npos)
      << text;
}

TEST(DiffJson, HasTheSpreadsOfEachSide) {
  auto base = tests::run_figures("jemalloc", {{"peak.residentBytes", uint64_t{100}}});
  const auto now = base;
  base.spreads = {{"peak.residentBytes", 90, 110}};
  const std::string json = *to_json(
      *diff_reports(tests::named_report("a", {base}), tests::named_report("b", {now}), {}, ""));
  EXPECT_NE(json.find(R"("changePercent": 0, "baseSpread": {"least": 90, "greatest": 110}})"),
            std::string::npos)
      << json;
}

TEST(DiffJson, HasSpreadsOfTheirOwnForBothSides) {
  auto base = tests::run_figures("jemalloc", {{"peak.residentBytes", uint64_t{100}}});
  auto now = base;
  base.spreads = {{"peak.residentBytes", 90, 110}};
  now.spreads = {{"peak.residentBytes", 95, 120}};
  const std::string json = *to_json(
      *diff_reports(tests::named_report("a", {base}), tests::named_report("b", {now}), {}, ""));
  EXPECT_NE(json.find(R"("baseSpread": {"least": 90, "greatest": 110}, )"
                      R"("newSpread": {"least": 95, "greatest": 120}})"),
            std::string::npos)
      << json;
}

TEST(DiffJunit, HasTheSecondsOfTheNewReplay) {
  const auto base = tests::run_figures("glibc", {{"time.replayNs", uint64_t{9'000'000'000}}});
  const auto now = tests::run_figures("glibc", {{"time.replayNs", uint64_t{1'500'000'000}}});
  const std::string text =
      to_junit(*diff_reports(tests::named_report("a", {base}), tests::named_report("b", {now}),
                             {*parse_gate("time.replayNs > +5%")}, ""));
  EXPECT_NE(text.find(R"(skipped="0" time="1.500">)"), std::string::npos) << text;
}

// Of twelve runs.
TEST(DiffMarkdown, ShowsTenOfWhatFailedAndOfWhatChanged) {
  NamedReport base = tests::named_report("a", {});
  NamedReport now = tests::named_report("b", {});
  for (int i = 0; i < 12; ++i) {
    const std::string label = "run " + std::to_string(i);
    base.figures.runs.push_back(tests::run_figures(label, {{"end.committedBytes", uint64_t{100}}}));
    now.figures.runs.push_back(tests::run_figures(label, {{"end.committedBytes", uint64_t{200}}}));
  }
  const std::string text =
      to_markdown(*diff_reports(base, now, {*parse_gate("end.committedBytes > +5%")}, ""));
  const std::string shown = text.substr(0, text.find("<details>"));
  EXPECT_NE(shown.find("\n2 more failed: see all gates below.\n"), std::string::npos) << shown;
  size_t rows = 0;
  for (size_t at = 0; (at = shown.find("\n| run ", at)) != std::string::npos; ++at) ++rows;
  EXPECT_EQ(rows, 10u) << shown;
}

// What was 0 has no percentage.
TEST(DiffMarkdown, PutsWhatCameFromZeroWhereItsBytesBelong) {
  const auto run = [](uint64_t holes, uint64_t count, uint64_t end) {
    return tests::run_figures("glibc", {{"peak.committedBytes", uint64_t{1000}},
                                        {"peak.holes.count", count},
                                        {"peak.holes.bytes", holes},
                                        {"end.committedBytes", end},
                                        {"peak.residentBytes", end + 900}});
  };
  const std::string text =
      to_markdown(*diff_reports(tests::named_report("a", {run(0, 0, 100)}),
                                tests::named_report("b", {run(50, 7, 110)}), {}, ""));
  const size_t ten_percent = text.find("end.committedBytes");
  const size_t five_percent = text.find("peak.holes.bytes");
  EXPECT_LT(ten_percent, five_percent) << text;
  EXPECT_LT(five_percent, text.find("peak.residentBytes")) << text;  // one percent
  EXPECT_LT(five_percent, text.find("peak.holes.count")) << text;
}

TEST(DiffMarkdown, SaysOnceWhatTheProgramChanged) {
  const auto run = [](const char* label, uint64_t live) {
    return tests::run_figures(label, {{"peak.liveBytes", live}, {"peak.committedBytes", live * 2}});
  };
  const std::string text =
      to_markdown(*diff_reports(tests::named_report("a", {run("x", 100), run("y", 100)}),
                                tests::named_report("b", {run("x", 200), run("y", 200)}), {}, ""));
  const std::string shown = text.substr(0, text.find("<details>"));
  EXPECT_NE(shown.find("| x | peak.liveBytes |"), std::string::npos) << shown;
  EXPECT_EQ(shown.find("| y | peak.liveBytes |"), std::string::npos) << shown;
  EXPECT_NE(shown.find("| y | peak.committedBytes |"), std::string::npos) << shown;
}

TEST_F(DiffFormatTest, EscapesWhatXmlReserves) {
  ReportDiff diff;
  diff.notes = {"a<b>&\"c'"};
  EXPECT_NE(to_junit(diff).find("note: a&lt;b&gt;&amp;&quot;c&#39;\n"), std::string::npos);
}

TEST_F(DiffFormatTest, EscapesWhatMarkdownReserves) {
  ReportDiff diff;
  diff.notes = {"a|b_c`d\\", "<b>@all&"};
  EXPECT_NE(to_markdown(diff).find("- note: a\\|b\\_c\\`d\\\\\n"), std::string::npos);
  EXPECT_NE(to_markdown(diff).find("- note: &#60;b&#62;&#64;all&#38;\n"), std::string::npos);
}

}  // namespace
}  // namespace heaptape::replayer
