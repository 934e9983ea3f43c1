#include "replayer/diff/diff.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/number_text.h"
#include "replayer/diff/diff_format.h"
#include "tests/support/reports.h"

#ifdef CAPNP_VERSION
#error "a header of the report library pulls in Cap'n Proto"
#endif

namespace heaptape::replayer {
namespace {

using schema::MetricValue;
using tests::named_report;
using tests::NamedMetric;
using tests::run_figures;

class DiffTest : public testing::Test {
 protected:
  static NamedMetric committed(uint64_t bytes) { return {"peak.committedBytes", bytes}; }
  static std::vector<Gate> gates(std::initializer_list<const char*> expressions) {
    std::vector<Gate> result;
    for (const char* expression : expressions) result.push_back(*parse_gate(expression));
    return result;
  }
  static ReportDiff diff(const NamedReport& base, const NamedReport& now,
                         const std::vector<Gate>& gates = {}, const std::string& run = "") {
    auto result = diff_reports(base, now, gates, run);
    EXPECT_TRUE(result.ok()) << result.error().message;
    return result.ok() ? std::move(*result) : ReportDiff{};
  }
  static std::string error(const NamedReport& base, const NamedReport& now,
                           const std::string& run = "") {
    const auto result = diff_reports(base, now, {}, run);
    EXPECT_FALSE(result.ok());
    return result.ok() ? "" : result.error().message;
  }
};

TEST_F(DiffTest, MatchesRunsByLabelInTheOrderOfTheNewReport) {
  const auto base = named_report("a.json", {run_figures("x"), run_figures("y")});
  const auto now = named_report("b.json", {run_figures("y"), run_figures("x")});
  const ReportDiff result = diff(base, now);
  ASSERT_EQ(result.runs.size(), 2u);
  EXPECT_EQ(result.runs[0].label, "y");
  EXPECT_TRUE(result.notes.empty());
}

TEST_F(DiffTest, NamesRunsThatOneSideLacks) {
  const auto base = named_report("a.json", {run_figures("x"), run_figures("y")});
  const auto now = named_report("b.json", {run_figures("x"), run_figures("z")});
  const ReportDiff result = diff(base, now);
  ASSERT_EQ(result.notes.size(), 2u);
  EXPECT_EQ(result.notes[0], "run 'y' is only in 'a.json' and was not compared");
  EXPECT_EQ(result.notes[1], "run 'z' is only in 'b.json' and was not compared");
}

TEST_F(DiffTest, ComparesOnlyTheRunAskedFor) {
  const auto report = named_report("a.json", {run_figures("x"), run_figures("y")});
  const ReportDiff result = diff(report, report, {}, "y");
  ASSERT_EQ(result.runs.size(), 1u);
  EXPECT_EQ(result.runs[0].label, "y");
}

TEST_F(DiffTest, SaysWhichReportLacksTheRunAskedFor) {
  const auto base = named_report("a.json", {run_figures("x"), run_figures("y")});
  const auto now = named_report("b.json", {run_figures("x")});
  EXPECT_EQ(error(base, now, "y"), "'b.json' has no run labeled 'y'; it has 'x'");
}

TEST_F(DiffTest, SuggestsTheLabelThatWasMeant) {
  const auto report = named_report("a.json", {run_figures("glibc")});
  EXPECT_NE(error(report, report, "glbc").find("(did you mean glibc?)"), std::string::npos);
}

// The warning of a diff of two recordings.
std::string warning(const std::string& base_command, uint64_t base_events,
                    const std::string& new_command, uint64_t new_events) {
  auto base = named_report("a.json", {run_figures("x")}, base_events);
  auto now = named_report("b.json", {run_figures("x")}, new_events);
  base.figures.tape_command = base_command;
  now.figures.tape_command = new_command;
  return diff_reports(base, now, {}, "")->warning;
}

TEST(DiffWarning, IsOfReportsOfDifferentPrograms) {
  EXPECT_EQ(warning("redis-server a.conf", 1000, "python3 app.py", 990),
            "these reports are of different programs (base: 'redis-server a.conf', 1,000 events; "
            "new: 'python3 app.py', 990 events): the differences say nothing about the allocators");
}

TEST(DiffWarning, IsOfAnAllocatorThatOnlyOneTapeDoesNotSee) {
  auto base = named_report("a.json", {run_figures("x")}, 10);
  auto now = base;
  now.figures.inner = {{"/bin/x", {"jemalloc"}}};
  EXPECT_EQ(diff_reports(base, now, {}, "")->warning,
            "only the new tape lacks calls to jemalloc inside '/bin/x', so its figures may be "
            "lower than the other's");
  EXPECT_EQ(diff_reports(now, base, {}, "")->warning,
            "only the base tape lacks calls to jemalloc inside '/bin/x', so its figures may be "
            "lower than the other's");
  EXPECT_EQ(diff_reports(now, now, {}, "")->warning, "");
}

TEST(DiffWarning, IsOfOneProgramOnOtherWorkOfAnotherLength) {
  EXPECT_NE(warning("python3 a.py", 1000, "python3 b.py", 2002), "");
  EXPECT_EQ(warning("python3 a.py", 1000, "python3 b.py", 2000), "");
  EXPECT_EQ(warning("python3 a.py", 2000, "python3 b.py", 1000), "");
}

TEST(DiffWarning, IsNotOfOneCommandWhateverItsLength) {
  EXPECT_EQ(warning("./server --test", 1000, "./server --test", 1'000'000), "");
  EXPECT_EQ(warning("main/server --test", 1000, "/srv/branch/server --test", 5000), "");
}

TEST(DiffWarning, IsNotOfOneProgramOnLikeWork) {
  EXPECT_EQ(warning("server --port 1", 1000, "server --port 2", 1500), "");
}

TEST(DiffWarning, IsNotOfReportsThatDoNotSayTheirCommand) {
  EXPECT_EQ(warning("", 1000, "server", 9000), "");
}

TEST(DiffWarning, StandsInEveryFormat) {
  ReportDiff diff;
  diff.warning = "odd pair";
  for (const DiffFormat format :
       {DiffFormat::kText, DiffFormat::kMarkdown, DiffFormat::kJson, DiffFormat::kJunit}) {
    EXPECT_NE(format_diff(diff, format)->find("odd pair"), std::string::npos);
  }
}

TEST_F(DiffTest, RefusesReportsWithoutACommonLabel) {
  const auto base = named_report("a.json", {run_figures("x")});
  const auto now = named_report("b.json", {});
  const std::string message = error(base, now);
  EXPECT_NE(message.find("the first has 'x', the second no runs"), std::string::npos) << message;
}

TEST_F(DiffTest, RefusesTwoRunsOfOneLabel) {
  const auto report = named_report("a.json", {run_figures("x"), run_figures("x")});
  EXPECT_NE(error(report, report).find("'a.json' has two runs labeled 'x'"), std::string::npos);
}

TEST_F(DiffTest, NotesThatTheTapesDiffer) {
  const ReportDiff result = diff(named_report("a.json", {run_figures("x")}, 1000),
                                 named_report("b.json", {run_figures("x")}, 2000));
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_NE(result.notes[0].find("1,000 events in base, 2,000 in new"), std::string::npos);
}

TEST_F(DiffTest, NotesAnotherTouchPolicy) {
  auto untouched = run_figures("x");
  untouched.touch = "none";
  const ReportDiff result =
      diff(named_report("a.json", {run_figures("x")}), named_report("b.json", {untouched}));
  ASSERT_EQ(result.runs[0].notes.size(), 1u);
  EXPECT_EQ(result.runs[0].notes[0], "touch differs: 'page' in base, 'none' in new");
}

TEST_F(DiffTest, NotesThatOneOfTheReplaysWasShorter) {
  const auto report = [](uint64_t calls) {
    return named_report("a.json", {run_figures("x", {{"accounting.recorded", calls}})});
  };
  const ReportDiff result = diff(report(1000), report(20));
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_EQ(result.notes[0], "the replays end at different calls: #1,000 in base, #20 in new");
  EXPECT_TRUE(diff(report(20), report(20)).notes.empty());
}

TEST_F(DiffTest, NotesThatOneOfTheReplaysBeganLater) {
  const auto report = [](uint64_t before, uint64_t calls) {
    return named_report(
        "a.json",
        {run_figures("x", {{"accounting.recorded", calls}, {"accounting.before", before}})});
  };
  const ReportDiff result = diff(report(0, 1000), report(20, 980));
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_EQ(result.notes[0], "the replays begin at different calls: #1 in base, #21 in new");
}

TEST_F(DiffTest, PutsHeadlinesAndGatedMetricsInTheTable) {
  const auto report = named_report(
      "a.json",
      {run_figures(
          "x", {{"end.temporaries", uint64_t{1}}, {"resizes.moved", uint64_t{2}}, committed(3)})});
  const RunDiff run = diff(report, report, gates({"resizes.moved>5"})).runs[0];
  ASSERT_EQ(run.rows.size(), 3u);
  EXPECT_EQ(run.rows[0].name, "peak.committedBytes");
  EXPECT_EQ(run.rows[1].name, "resizes.moved");
  EXPECT_EQ(run.rows[2].name, "end.temporaries");
  EXPECT_EQ(run.table_rows, 2u);
}

TEST_F(DiffTest, KeepsMetricsThatOnlyTheBaseHas) {
  const auto base = named_report("a.json", {run_figures("x", {{"counters.a", uint64_t{1}}})});
  const auto rows = diff(base, named_report("b.json", {run_figures("x")})).runs[0].rows;
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_FALSE(rows[0].now.has_value());
}

TEST_F(DiffTest, ShowsEveryHeadlineOfAReportThatHasAllMetrics) {
  schema::RunFigures run = run_figures("x");
  for (const std::string& name : schema::metric_names()) run.metrics.push_back({name, uint64_t{1}});
  const auto report = named_report("a.json", {run});
  EXPECT_EQ(diff(report, report).runs[0].table_rows, 17u);
}

TEST_F(DiffTest, JudgesEachGateOnEachMatchedRun) {
  const auto base = named_report(
      "a.json", {run_figures("x", {committed(100)}), run_figures("y", {committed(100)})});
  const auto now = named_report(
      "b.json", {run_figures("x", {committed(110)}), run_figures("y", {committed(100)})});
  const ReportDiff result = diff(base, now, gates({"peak.committedBytes>+5%"}));
  ASSERT_EQ(result.gates.size(), 2u);
  EXPECT_EQ(result.gates[0].state, GateState::kFailed);
  EXPECT_EQ(result.gates[1].state, GateState::kPassed);
  EXPECT_TRUE(result.failed);
}

TEST_F(DiffTest, FailsForNoRunThatHadFailedBefore) {
  auto run = run_figures("x");
  run.failure = "at #7: it died";
  const auto failed = named_report("a.json", {run});
  EXPECT_FALSE(diff(failed, failed).failed);
  EXPECT_TRUE(diff(named_report("b.json", {run_figures("x")}), failed).failed);
}

TEST_F(DiffTest, FailsForARunOfTheNewReportAloneThatFailed) {
  auto run = run_figures("y");
  run.failure = "at #7: it died";
  const auto base = named_report("a.json", {run_figures("x", {committed(100)})});
  const auto now = named_report("b.json", {run_figures("x", {committed(100)}), run});
  EXPECT_EQ(diff(base, now).verdict(), "FAIL: 1 run failed, 1 run compared");
  const ReportDiff gated = diff(base, now, gates({"peak.committedBytes > 500"}));
  EXPECT_TRUE(gated.failed);
  EXPECT_EQ(gated.verdict(), "FAIL: 1 run failed, 1 run compared");
  EXPECT_TRUE(gated.notes.at(0).ends_with("was not compared; it failed at #7: it died"));
  EXPECT_FALSE(diff(base, now, {}, "x").failed);
}

TEST_F(DiffTest, FailsEachGateOnARunThatTheNewReportLacks) {
  const auto base = named_report(
      "a.json", {run_figures("x", {committed(100)}), run_figures("y", {committed(100)})});
  const auto now = named_report(
      "b.json", {run_figures("x", {committed(100)}), run_figures("z", {committed(999)})});
  const ReportDiff result = diff(base, now, gates({"peak.committedBytes > 500"}));
  ASSERT_EQ(result.gates.size(), 2u);
  EXPECT_EQ(result.gates[0].state, GateState::kPassed);
  EXPECT_EQ(result.gates[1].run, "y");
  EXPECT_EQ(result.gates[1].detail, "the new report has no such run");
  EXPECT_TRUE(result.failed);
}

TEST_F(DiffTest, MissesNoRunsWhereOneWasAskedFor) {
  const auto base = named_report(
      "a.json", {run_figures("x", {committed(100)}), run_figures("y", {committed(100)})});
  const auto now = named_report("b.json", {run_figures("x", {committed(100)})});
  EXPECT_FALSE(diff(base, now, gates({"peak.committedBytes > 500"}), "x").failed);
}

TEST_F(DiffTest, SkipsAGateOnTheRunsThatHaveNoSuchCounter) {
  const auto report = named_report(
      "a.json", {run_figures("x"), run_figures("model", {{"counters.visited", uint64_t{1}}})});
  const ReportDiff result = diff(report, report, gates({"counters.visited>5"}));
  EXPECT_EQ(result.gates[0].state, GateState::kSkipped);
  EXPECT_EQ(result.gates[1].state, GateState::kPassed);
  EXPECT_EQ(result.verdict(), "PASS: 1 gate check passed, 2 runs compared");
}

TEST(DiffToABaseline, SkipsAGateOnARunThatHasNoSuchFigure) {
  const NamedMetric time = {"time.nsPerEvent", 10.0};
  const auto report = named_report(
      "a.json", {run_figures("x", {time}), run_figures("y", {time}), run_figures("recorded")});
  const auto diff = diff_reports(report, report, {*parse_gate("time.nsPerEvent>+5%")}, "", "x");
  EXPECT_EQ(diff->gates.at(0).state, GateState::kPassed);
  EXPECT_EQ(diff->gates.at(1).state, GateState::kSkipped);
  EXPECT_FALSE(diff->failed);
}

TEST(DiffToABaseline, DoesNotJudgeWhatTheWholeProcessHadResidentByOneHeap) {
  const NamedMetric resident = {"peak.residentBytes", uint64_t{1000}};
  const NamedMetric more = {"peak.residentBytes", uint64_t{9000}};
  const auto report =
      named_report("a.json", {run_figures("glibc", {resident}), run_figures("x", {resident}),
                              run_figures("recorded", {more})});
  const auto diff =
      diff_reports(report, report, {*parse_gate("peak.residentBytes>+5%")}, "", "glibc");
  EXPECT_EQ(diff->gates.at(0).state, GateState::kPassed);
  EXPECT_EQ(diff->gates.at(1).state, GateState::kSkipped);
  EXPECT_EQ(
      diff->gates.at(1).detail,
      "the recorded run's resident bytes are those of its whole process, not of its heap alone");
}

TEST(DiffToABaseline, JudgesResidentBytesThatAreComparedWithNone) {
  const auto report =
      named_report("a.json", {run_figures("recorded", {{"peak.residentBytes", uint64_t{9000}}}),
                              run_figures("x", {{"peak.residentBytes", uint64_t{1000}}})});
  const auto diff =
      diff_reports(report, report, {*parse_gate("peak.residentBytes>500")}, "", "recorded");
  EXPECT_EQ(diff->gates.at(0).state, GateState::kFailed);
}

TEST(DiffToABaseline, FailsForARunThatFailedWhateverIsCompared) {
  auto failed = run_figures("x", {{"peak.residentBytes", uint64_t{1000}}});
  failed.failure = "at #3: it died";
  const auto report = named_report(
      "a.json", {run_figures("recorded", {{"peak.residentBytes", uint64_t{9000}}}), failed});
  const auto diff =
      diff_reports(report, report, {*parse_gate("peak.residentBytes>+5%")}, "", "recorded");
  EXPECT_EQ(diff->gates.at(0).state, GateState::kFailed);
  EXPECT_EQ(diff->gates.at(0).detail, "the new run failed at #3: it died");
}

TEST(DiffToABaseline, FailsAGateOnAFigureThatTheBaselineLacks) {
  const auto report = named_report(
      "a.json", {run_figures("recorded"), run_figures("x", {{"time.nsPerEvent", 10.0}})});
  const auto diff =
      diff_reports(report, report, {*parse_gate("time.nsPerEvent>+5%")}, "", "recorded");
  EXPECT_TRUE(diff->failed);
  EXPECT_EQ(diff->gates.at(0).detail, "the base run has no time.nsPerEvent");
}

TEST_F(DiffTest, FailsAGateThatNoRunCanAnswer) {
  const auto report = named_report("a.json", {run_figures("x")});
  const ReportDiff result = diff(report, report, gates({"counters.mispelt>5"}));
  EXPECT_TRUE(result.failed);
  EXPECT_EQ(result.gates[0].detail, "no compared run has counters.mispelt");
}

TEST_F(DiffTest, FailsAGateThatNoneOfTwoRunsCanAnswer) {
  const auto report = named_report("a.json", {run_figures("x"), run_figures("y")});
  const ReportDiff result = diff(report, report, gates({"counters.mispelt>5"}));
  ASSERT_EQ(result.gates.size(), 2u);
  EXPECT_EQ(result.gates[0].state, GateState::kFailed);
  EXPECT_EQ(result.gates[1].state, GateState::kFailed);
}

TEST_F(DiffTest, FailsAGateThatNoRunCanAnswerBesideOneThatPasses) {
  const auto report =
      named_report("a.json", {run_figures("x", {committed(1)}), run_figures("y", {committed(1)})});
  EXPECT_TRUE(diff(report, report, gates({"peak.committedBytes>5", "counters.mispelt>5"})).failed);
}

TEST_F(DiffTest, FailsAGateOnTheRunThatLostItsMetricThoughAnotherPasses) {
  const NamedMetric visited = {"counters.visited", uint64_t{1}};
  const auto base =
      named_report("a.json", {run_figures("x", {visited}), run_figures("y", {visited})});
  const auto now = named_report("b.json", {run_figures("x"), run_figures("y", {visited})});
  const ReportDiff result = diff(base, now, gates({"counters.visited>5"}));
  EXPECT_EQ(result.gates[0].state, GateState::kFailed);
  EXPECT_EQ(result.gates[1].state, GateState::kPassed);
  EXPECT_TRUE(result.failed);
}

TEST_F(DiffTest, PassesWithoutGates) {
  const auto report = named_report("a.json", {run_figures("x")});
  EXPECT_FALSE(diff(report, report).failed);
  EXPECT_EQ(diff(report, report).verdict(),
            "1 run compared; no gates were given, so nothing was checked");
}

TEST_F(DiffTest, CountsFailedGatesInItsVerdict) {
  const auto report = named_report("a.json", {run_figures("x", {committed(100)})});
  const auto judged =
      diff(report, report, gates({"peak.committedBytes>5", "peak.committedBytes>500"}));
  EXPECT_EQ(judged.verdict(), "FAIL: 1 of 2 gate checks failed, 1 run compared");
}

}  // namespace
}  // namespace heaptape::replayer
