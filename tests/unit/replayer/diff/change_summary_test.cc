#include "replayer/diff/change_summary.h"

#include <gtest/gtest.h>

#include "replayer/diff/diff.h"
#include "replayer/diff/diff_format.h"
#include "replayer/diff/diff_table.h"
#include "tests/support/reports.h"

namespace heaptape::replayer {
namespace {

using tests::NamedMetric;

constexpr uint64_t kMiB = uint64_t{1} << 20;

// What a run holds at a state, in MiB.
struct Held {
  uint64_t resident = 0;
  uint64_t live = 0;
  uint64_t holes = 0;
  uint64_t caches = 0;
};

void add_state(const std::string& state, const Held& held, schema::RunFigures& run) {
  for (const auto& [name, mib] : {std::pair{".residentBytes", held.resident},
                                  {".liveBytes", held.live},
                                  {".account.holeBytes", held.holes},
                                  {".account.cachedBytes", held.caches}}) {
    run.metrics.push_back({state + name, mib * kMiB});
  }
}

class ChangeSummaryTest : public testing::Test {
 protected:
  ChangeSummaryTest()
      : base_(tests::named_report("a", {tests::run_figures("glibc")})),
        now_(tests::named_report("b", {tests::run_figures("glibc")})) {}

  void add(const std::string& state, const Held& base, const Held& now) {
    add_state(state, base, base_.figures.runs[0]);
    add_state(state, now, now_.figures.runs[0]);
  }
  ChangeSummary summary(const std::string& baseline = "") const {
    return diff_reports(base_, now_, {}, "", baseline)->summary;
  }
  // A function with so many bytes at the peak and at the end.
  static schema::SiteFigures sites(const char* function, uint64_t peak, uint64_t end) {
    const schema::SiteBytes bytes{peak * kMiB, end * kMiB, 0};
    return {bytes, {{function, function, "a.c", 7, "/opt/app", bytes}}};
  }
  // A function that pins so much at the plateau on glibc, and another that pins as much; called by
  // main. On another run they pin nothing.
  static schema::StackTree pinning(const char* function, uint64_t mib) {
    schema::StackTree tree;
    tree.pinned = {{"jemalloc", {"plateau"}}, {"glibc", {"plateau", "exit"}}};
    tree.frames = {
        {"main", "app", "a.c", 1}, {"other", "app", "a.c", 4}, {function, "app", "a.c", 9}};
    const auto values = [](uint64_t bytes) {
      return schema::StackValues{0, 0, 0, 0, 0, 0, 0, bytes * kMiB};
    };
    tree.nodes = {{schema::StackTree::kMergedFrame, 0, values(2 * mib)},
                  {0, 0, values(2 * mib)},
                  {1, 1, values(mib)},
                  {2, 1, values(mib)}};
    return tree;
  }
  static schema::PinCohorts pins(uint64_t mib) {
    return {
        {"atPlateau"},
        {{.size_bytes = 64, .count = 10, .bytes = mib * kMiB, .first_birth = 1, .last_birth = 9}}};
  }

  NamedReport base_;
  NamedReport now_;
};

TEST_F(ChangeSummaryTest, IsAboutTheMomentThatChangedMost) {
  add("atPeak", {100, 90, 5, 0}, {102, 92, 5, 0});
  add("atPlateau", {50, 10, 30, 1}, {20, 10, 2, 1});
  add("end", {20, 10, 2, 1}, {21, 10, 2, 1});
  EXPECT_EQ(summary().state, "atPlateau");
  EXPECT_EQ(summary().text(),
            "glibc keeps 20.0 MiB at the plateau, 30.0 MiB (60%) less than in the base.\n"
            "  -28.0 MiB free between live blocks\n");
}

TEST_F(ChangeSummaryTest, IsAboutThePlateauWhereAllChangedAlike) {
  for (const char* const state : {"end", "atPeak", "atExit", "atPlateau"}) {
    add(state, {10, 5, 5, 0}, {20, 5, 15, 0});
  }
  EXPECT_EQ(summary().state, "atPlateau");
}

TEST_F(ChangeSummaryTest, HasTheGreatestPartsFirstWhicheverWayTheyChanged) {
  add("atPeak", {100, 60, 20, 10}, {110, 80, 25, 3});
  const ChangeSummary changed = summary();
  ASSERT_EQ(changed.parts.size(), 3u);
  EXPECT_EQ(changed.parts[0].kind, "live");
  EXPECT_EQ(changed.parts[0].bytes, static_cast<int64_t>(20 * kMiB));
  EXPECT_EQ(changed.parts[1].text, "-7.00 MiB kept in caches for reuse");
  EXPECT_EQ(changed.parts[2].kind, "holes");
}

TEST_F(ChangeSummaryTest, LeavesOutLessThanAHundredth) {
  add("atPeak", {1000, 900, 20, 10}, {1100, 1000, 20, 10});
  now_.figures.runs[0].metrics.push_back({"atPeak.account.topBytes", 10 * kMiB});
  base_.figures.runs[0].metrics.push_back({"atPeak.account.topBytes", uint64_t{0}});
  EXPECT_EQ(summary().parts.size(), 1u);
  now_.figures.runs[0].metrics.back().value = 12 * kMiB;
  EXPECT_EQ(summary().parts.size(), 2u);
}

TEST_F(ChangeSummaryTest, CountsWhatWasNeverTouchedAsNotLive) {
  add("atPeak", {10, 10, 0, 0}, {20, 120, 0, 0});
  base_.figures.runs[0].metrics.push_back({"atPeak.account.untouchedBytes", uint64_t{0}});
  now_.figures.runs[0].metrics.push_back({"atPeak.account.untouchedBytes", 100 * kMiB});
  ASSERT_EQ(summary().parts.size(), 1u);
  EXPECT_EQ(summary().parts[0].text, "+10.0 MiB live");
}

TEST_F(ChangeSummaryTest, NamesTheFunctionThatGrewAtThatMoment) {
  base_.figures.sites = sites("keep", 1, 1);
  now_.figures.sites = sites("keep", 31, 61);
  add("atPeak", {10, 10, 0, 0}, {40, 40, 0, 0});
  ASSERT_EQ(summary().parts.size(), 1u);
  EXPECT_EQ(summary().parts[0].text, "+30.0 MiB live: keep (a.c:7) has 30.0 MiB more at the peak");
  add("atExit", {10, 10, 0, 0}, {70, 70, 0, 0});
  EXPECT_EQ(summary().parts[0].text, "+60.0 MiB live: keep (a.c:7) has 60.0 MiB more at the end");
}

TEST_F(ChangeSummaryTest, NamesBlocksWithoutCallStacks) {
  const auto blocks = [](uint64_t count) {
    return std::vector<schema::CohortFigures>{{.size_bytes = kMiB,
                                               .count = count,
                                               .bytes = count * kMiB,
                                               .first_birth = 1,
                                               .last_birth = 99}};
  };
  base_.figures.cohorts = schema::LiveCohorts{blocks(10), blocks(1)};
  now_.figures.cohorts = schema::LiveCohorts{blocks(40), blocks(1)};
  add("atPeak", {10, 10, 0, 0}, {40, 40, 0, 0});
  EXPECT_EQ(
      summary().parts.at(0).text,
      "+30.0 MiB live: +30 blocks of 1.00 MiB alive at the peak, requested between #1 and #99: "
      "+30.0 MiB");
}

// The sites may have changed the other way.
TEST_F(ChangeSummaryTest, NamesNobodyWhoShrankForWhatGrew) {
  base_.figures.sites = sites("keep", 31, 0);
  now_.figures.sites = sites("keep", 1, 0);
  add("atPeak", {10, 10, 0, 0}, {40, 40, 0, 0});
  EXPECT_EQ(summary().parts.at(0).text, "+30.0 MiB live");
}

TEST_F(ChangeSummaryTest, NamesTheFunctionThatPinsTheHoles) {
  add("atPlateau", {10, 5, 4, 0}, {60, 5, 54, 0});
  base_.figures.runs[0].pins = {pins(4)};
  now_.figures.runs[0].pins = {pins(54)};
  EXPECT_EQ(
      summary().parts.at(0).text,
      "+50.0 MiB free between live blocks: resident bytes in holes at the plateau: +50.0 MiB, "
      "100.0% of it beside blocks of 64 B requested between #1 and #9");
  base_.stacks = pinning("before", 4);
  now_.stacks = pinning("open_session", 54);
  EXPECT_EQ(summary().parts.at(0).text,
            "+50.0 MiB free between live blocks: open_session (a.c:9) pins 54.0 MiB more at the "
            "plateau, all other sites 46.0 MiB more");
  const auto diff =
      diff_reports(base_, now_, {*parse_gate("atPlateau.account.holeBytes > +5%")}, "");
  ASSERT_EQ(reasons_text(*diff).size(), 1u) << "the sizes say less";
  EXPECT_TRUE(reasons_text(*diff)[0].starts_with("glibc: open_session (a.c:9) pins 54.0 MiB more"));
  // Its functions may pin less.
  std::swap(base_.stacks, now_.stacks);
  EXPECT_NE(summary().parts.at(0).text.find("beside blocks of 64 B"), std::string::npos);
  // Without names in one report nothing can be compared.
  std::swap(base_.stacks, now_.stacks);
  for (auto& frame : base_.stacks->frames) frame = {"app+0x10", "app", "", 0};
  EXPECT_NE(summary().parts.at(0).text.find("beside blocks of 64 B"), std::string::npos)
      << summary().parts.at(0).text;
}

TEST_F(ChangeSummaryTest, SumsMemoryBesideMallocAndNamesTheOwnerThatChangedMost) {
  for (NamedReport* const side : {&base_, &now_}) {
    side->figures.moments = {{"peak", 1, 1600, schema::ProcessFigures{1600, 1, {}}}};
  }
  add("atPeak", {10, 10, 0, 0}, {10, 10, 0, 0});
  auto& before = base_.figures.runs[0].metrics;
  auto& after = now_.figures.runs[0].metrics;
  before.push_back({"atPeak.process.besideMalloc.libarrow.bytes", 10 * kMiB});
  after.push_back({"atPeak.process.besideMalloc.libarrow.bytes", 50 * kMiB});
  before.push_back({"atPeak.process.besideMalloc.python3.bytes", 10 * kMiB});
  after.push_back({"atPeak.process.besideMalloc.python3.bytes", 7 * kMiB});
  EXPECT_EQ(summary().text(),
            "glibc keeps 10.0 MiB at the peak, as much as in the base.\n"
            "  +37.0 MiB beside malloc: libarrow has 40.0 MiB more\n");
  // A sample of another moment says nothing of this one: near is a sixteenth of the run.
  now_.figures.moments[0].process->time_ns = 1500;
  EXPECT_EQ(summary().parts.size(), 1u);
  now_.figures.moments[0].process->time_ns = 1499;
  EXPECT_TRUE(summary().parts.empty());
  now_.figures.moments[0].process.reset();
  EXPECT_TRUE(summary().parts.empty());
}

TEST_F(ChangeSummaryTest, IsAboutTheRunOfTheVerdict) {
  for (NamedReport* const side : {&base_, &now_}) {
    side->figures.runs.push_back(tests::run_figures("jemalloc"));
    add_state("end", {5, 1, 1, 1}, side->figures.runs[1]);
  }
  add("end", {10, 1, 1, 1}, {20, 1, 1, 1});
  EXPECT_EQ(summary().run, "glibc");
  now_.figures.verdict_run = "jemalloc";
  EXPECT_EQ(summary().run, "jemalloc");
  now_.figures.verdict_run = "recorded";
  EXPECT_EQ(summary().run, "glibc");
}

TEST_F(ChangeSummaryTest, ComparesWithABaselineByItsName) {
  now_.figures.runs.push_back(tests::run_figures("jemalloc"));
  add_state("end", {15, 1, 1, 1}, now_.figures.runs[1]);
  add("end", {10, 1, 1, 1}, {10, 1, 1, 1});
  now_.path = base_.path;
  base_ = now_;
  EXPECT_EQ(summary("glibc").headline,
            "jemalloc keeps 15.0 MiB at the end, 5.00 MiB (50%) more than glibc.");
}

TEST_F(ChangeSummaryTest, IsEmptyWithoutResidentBytes) {
  base_.figures.runs[0].metrics = {{"end.liveBytes", uint64_t{1}}};
  now_.figures.runs[0].metrics = {{"end.liveBytes", uint64_t{2}}};
  EXPECT_EQ(summary().text(), "");
  EXPECT_TRUE(to_text(*diff_reports(base_, now_, {}, "")).starts_with("base  "));
}

TEST_F(ChangeSummaryTest, CallsNoDifferenceOfEqualReplaysAChange) {
  add("end", {10, 1, 1, 1}, {11, 1, 1, 1});
  base_.figures.runs[0].spreads = {{"end.residentBytes", 9.0 * kMiB, 11.0 * kMiB}};
  EXPECT_EQ(
      summary().headline,
      "glibc keeps 11.0 MiB at the end; in the base 10.0 MiB: equal replays may differ as much.");
  EXPECT_TRUE(summary().parts.empty());
  add("atPeak", {10, 1, 1, 1}, {10, 1, 1, 1});
  now_.figures.runs[0].metrics.push_back({"atPeak.slackBytes", 2 * kMiB});
  base_.figures.runs[0].metrics.push_back({"atPeak.slackBytes", uint64_t{0}});
  base_.figures.runs[0].spreads.push_back({"atPeak.slackBytes", 0, 3.0 * kMiB});
  EXPECT_EQ(summary().state, "atPeak") << "nothing changed but noise";
  EXPECT_TRUE(summary().parts.empty());
}

// A report may say anything.
TEST_F(ChangeSummaryTest, SurvivesFiguresOfAnySize) {
  for (NamedReport* const side : {&base_, &now_}) {
    side->figures.moments = {{"end", 1, 1600, schema::ProcessFigures{1600, 1, {}}}};
  }
  for (const char* const metric :
       {"end.residentBytes", "end.liveBytes", "end.account.holeBytes",
        "end.process.besideMalloc.a.bytes", "end.process.besideMalloc.b.bytes"}) {
    base_.figures.runs[0].metrics.push_back({metric, uint64_t{0}});
    now_.figures.runs[0].metrics.push_back({metric, UINT64_MAX});
  }
  EXPECT_EQ(summary().parts.size(), 3u);
  std::swap(base_.figures, now_.figures);
  EXPECT_EQ(summary().parts.size(), 3u);
}

TEST_F(ChangeSummaryTest, IsInEveryFormat) {
  add("end", {10, 1, 1, 1}, {20, 11, 1, 1});
  const ReportDiff diff = *diff_reports(base_, now_, {*parse_gate("end.liveBytes > +5%")}, "");
  const std::string headline =
      "glibc keeps 20.0 MiB at the end, 10.0 MiB (100%) more than in the base.";
  EXPECT_TRUE(to_text(diff).starts_with(
      headline + "\n  +10.0 MiB live\n    keep less of it, or free it sooner\n\nbase  "));
  EXPECT_NE(to_markdown(diff).find("compared**\n\n" + headline +
                                   "\n\n- +10.0 MiB live; keep less of it, or free it sooner\n"),
            std::string::npos)
      << to_markdown(diff);
  EXPECT_NE(to_json(diff)->find("\"kind\": \"live\", \"changeBytes\": 10485760,"),
            std::string::npos)
      << *to_json(diff);
  EXPECT_NE(to_junit(diff).find(headline), std::string::npos);
}

// Whether a metric of 10 in the base and 12 now is noise.
bool is_noise(const char* metric, const std::optional<schema::Spread>& base = {},
              const std::optional<schema::Spread>& now = {}) {
  const schema::MetricUnit unit = schema::metric_unit(metric);
  return MetricRow{metric, unit, uint64_t{10}, uint64_t{12}, base, now}.is_noise();
}

TEST(Noise, IsATimeOfOneReplay) {
  EXPECT_TRUE(is_noise("time.nsPerEvent"));
  EXPECT_TRUE(is_noise("latency.malloc.p99Ns"));
  EXPECT_FALSE(is_noise("time.repeats"));
  EXPECT_FALSE(is_noise("end.timeNs")) << "of the recording";
  EXPECT_FALSE(is_noise("end.liveBytes"));
  EXPECT_FALSE((MetricRow{"time.nsPerEvent", schema::MetricUnit::kNs, 1.0, 1.0}.is_noise()));
  EXPECT_FALSE((MetricRow{"time.nsPerEvent", schema::MetricUnit::kNs, 1.0, {}}.is_noise()));
}

TEST(Noise, IsWhatEqualReplaysHaveInCommon) {
  for (const char* const metric : {"time.nsPerEvent", "end.residentBytes"}) {
    EXPECT_TRUE(is_noise(metric, schema::Spread{"", 9, 12}));
    EXPECT_FALSE(is_noise(metric, schema::Spread{"", 9, 11.9}));
    EXPECT_TRUE(is_noise(metric, {}, schema::Spread{"", 10, 13}));
    EXPECT_FALSE(is_noise(metric, {}, schema::Spread{"", 10.1, 13}));
    EXPECT_TRUE(is_noise(metric, schema::Spread{"", 9, 11}, schema::Spread{"", 11, 12}));
    EXPECT_FALSE(is_noise(metric, schema::Spread{"", 9, 11}, schema::Spread{"", 11.1, 12}));
  }
}

TEST(Noise, IsMarkedInTables) {
  const auto run = [](double ns) { return tests::run_figures("x", {{"time.nsPerEvent", ns}}); };
  const ReportDiff diff = *diff_reports(tests::named_report("a", {run(10)}),
                                        tests::named_report("b", {run(20)}), {}, "");
  const std::string text = to_text(diff);
  EXPECT_NE(text.find("  time.nsPerEvent  10.0 ns  20.0 ns  +10.0 ns  noise\n\nnoise: equal "),
            std::string::npos)
      << text;
  EXPECT_NE(to_json(diff)->find("\"isNoise\": true"), std::string::npos);
  EXPECT_EQ(to_markdown(diff).find("changed most"), std::string::npos);
}

TEST(DiffText, BeginsWithAWarning) {
  ReportDiff diff;
  diff.warning = "these are not alike";
  diff.summary.headline = "glibc keeps much.";
  EXPECT_TRUE(
      to_text(diff).starts_with("WARNING: these are not alike\n\nglibc keeps much.\n\nbase "));
}

TEST(DiffText, ListsOnlyGatesThatFailed) {
  const auto report = [](const char* path, uint64_t bytes) {
    return tests::named_report(path,
                               {tests::run_figures("x", {{"end.liveBytes", bytes}}),
                                tests::run_figures("y", {{"counters.visited", uint64_t{3}}})});
  };
  ReportDiff diff =
      *diff_reports(report("a", 10), report("b", 20),
                    {*parse_gate("end.liveBytes>+5%"), *parse_gate("counters.visited>100")}, "");
  const std::string text = to_text(diff);
  EXPECT_NE(text.find("\nFAIL  end.liveBytes>+5%  [x]  new 20 B, limit 10 B, base 10 B\n"
                      "1 gate check passed, 2 gate checks skipped: --all lists them\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("PASS"), std::string::npos);
  diff.lists_all_gates = true;
  EXPECT_NE(to_text(diff).find("PASS  counters.visited>100  [y]"), std::string::npos);
  EXPECT_EQ(to_text(diff).find("--all lists"), std::string::npos);
}

}  // namespace
}  // namespace heaptape::replayer
