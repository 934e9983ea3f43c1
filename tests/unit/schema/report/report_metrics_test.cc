#include "schema/report/report_metrics.h"

#include <capnp/message.h>
#include <capnp/schema.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "schema/report/report_figures.h"
#include "schema/report/report_json.h"
#include "tests/support/golden.h"
#include "tests/support/reports.h"

namespace heaptape::schema {
namespace {

class RunFiguresTest : public testing::Test {
 protected:
  RunFiguresTest() {
    auto report = parse_report("sample", tests::sample_report_json());
    EXPECT_TRUE(report.ok()) << report.error().message;
    figures_ = figures_of(*report);
  }
  // Of the sample without the first text that is `removed`; the run is the first.
  static RunFigures without(const std::string& removed) {
    std::string json = tests::sample_report_json();
    const size_t at = json.find(removed);
    EXPECT_NE(at, std::string::npos) << json;
    const auto report = parse_report("sample", json.erase(at, removed.size()));
    EXPECT_TRUE(report.ok()) << report.error().message;
    return figures_of(*report).runs[0];
  }
  std::optional<MetricValue> glibc(const char* name) const { return figures_.runs[0].metric(name); }
  std::optional<MetricValue> buddy(const char* name) const { return figures_.runs[1].metric(name); }
  static std::optional<MetricValue> integer(uint64_t value) { return value; }

  ReportFigures figures_;
};

TEST(MetricNames, ListsEachNameWithItsUnit) {
  std::string text;
  for (const std::string& name : metric_names()) {
    text += name + " " + unit_name(metric_unit(name)) + "\n";
  }
  tests::expect_golden("metrics.txt", text);
}

TEST(MetricNames, TakesUnitsFromTheSchema) {
  EXPECT_EQ(metric_unit("end.holes.largest"), MetricUnit::kBytes);
  EXPECT_EQ(metric_unit("time.nsPerEvent"), MetricUnit::kNs);
  EXPECT_EQ(metric_unit("peak.distanceToIdeal"), MetricUnit::kRatio);
}

TEST(MetricNames, GivesAPeakTheUnitOfItsFieldAndItsPlaceACount) {
  EXPECT_EQ(metric_unit("peak.committedBytes"), MetricUnit::kBytes);
  EXPECT_EQ(metric_unit("peak.committedBytes.at"), MetricUnit::kCount);
}

TEST(MetricNames, TakesCountersForCountsUnlessTheirNamesSayOtherwise) {
  EXPECT_EQ(metric_unit("counters.largest"), MetricUnit::kCount);
  EXPECT_EQ(metric_unit("counters.base.mappedBytes"), MetricUnit::kBytes);
  EXPECT_EQ(metric_unit("counters.bytesCopied"), MetricUnit::kBytes);
  EXPECT_EQ(metric_unit("counters.lookupNs"), MetricUnit::kNs);
}

// As "Struct.field", the numbers in `part` and in the structs it holds that say no unit.
std::string numbers_without_unit(capnp::StructSchema part) {
  std::string text;
  for (const auto field : part.getFields()) {
    const bool has_unit = field.getProto().getAnnotations().size() != 0;
    const auto type = field.getType().which();
    const std::string place =
        std::string(part.getShortDisplayName().cStr()) + "." + field.getProto().getName().cStr();
    if (field.getType().isStruct()) text += numbers_without_unit(field.getType().asStruct());
    if (has_unit || place == "PeakValue.value") continue;  // that one: as the field that holds it
    if (type >= capnp::schema::Type::INT8 && type <= capnp::schema::Type::FLOAT64) {
      text += place + " ";
    }
  }
  return text;
}

TEST(MetricNames, HasAUnitForEveryNumberOfARun) {
  EXPECT_EQ(numbers_without_unit(capnp::Schema::from<wire::Run>()), "");
}

TEST(MetricNames, HasAUnitForWhatTheRecordingLost) {
  EXPECT_EQ(numbers_without_unit(capnp::Schema::from<wire::Losses>()), "");
  EXPECT_TRUE(is_metric_name("tape.losses.lostEvents"));
  EXPECT_EQ(metric_unit("tape.losses.lostRanges"), MetricUnit::kCount);
}

TEST(MetricNames, HasNoNameTwice) {
  const auto& names = metric_names();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
}

TEST(MetricNames, LeavesOutListsAndText) {
  for (const std::string& name : metric_names()) {
    EXPECT_FALSE(name.starts_with("timeline") || name.starts_with("latency") ||
                 name.find("histogram") != name.npos || name == "label")
        << name;
  }
}

TEST(MetricNames, AcceptsAnyCounterWithAName) {
  EXPECT_TRUE(is_metric_name("peak.committedBytes.at"));
  EXPECT_TRUE(is_metric_name("counters.anything"));
  EXPECT_FALSE(is_metric_name("counters."));
  EXPECT_FALSE(is_metric_name("peak.committedBytes.value"));
}

TEST(MetricNames, AcceptTheLatencyOfAnyCall) {
  EXPECT_TRUE(is_metric_name("latency.malloc.p99Ns"));
  EXPECT_TRUE(is_metric_name("latency.malloc.to64.maxAt"));
  for (const char* name : {"latency.", "latency.malloc", "latency.p99Ns", "latency..p99Ns",
                           "latency.malloc.p98Ns", "latency.malloc.op"}) {
    EXPECT_FALSE(is_metric_name(name)) << name;
  }
}

TEST(MetricNames, OfLatenciesHaveTheUnitOfTheirField) {
  EXPECT_EQ(metric_unit("latency.malloc.to64.p50NsMin"), MetricUnit::kNs);
  EXPECT_EQ(metric_unit("latency.malloc.samples"), MetricUnit::kCount);
  EXPECT_EQ(metric_unit("latency.malloc.maxAt"), MetricUnit::kCount);
}

TEST(MetricNames, AcceptTheFiguresAtAnyMark) {
  EXPECT_TRUE(is_metric_name("atMark.warm.residentBytes"));
  EXPECT_TRUE(is_metric_name("atMark.v1.2.holes.largest")) << "its name may have dots";
  EXPECT_EQ(metric_unit("atMark.warm.account.holeBytes"), MetricUnit::kBytes);
  EXPECT_EQ(metric_unit("atMark.warm.fragmentation"), MetricUnit::kRatio);
  for (const char* name : {"atMark.", "atMark.warm", "atMark.residentBytes",
                           "atMark..residentBytes", "atMark.warm.resident"}) {
    EXPECT_FALSE(is_metric_name(name)) << name;
  }
}

TEST(MetricNames, AcceptTheMemoryOfAnyOwner) {
  for (const char* state : {"peak", "end", "atPeak", "atPlateau", "atExit", "atMark.v1.2"}) {
    const std::string prefix = std::string(state) + ".process.besideMalloc.";
    for (const char* owner : {"libarrow", "python3.11", "libstdc++", "a-b_c", "bytes"}) {
      const std::string name = prefix + owner + ".bytes";
      EXPECT_TRUE(is_metric_name(name)) << name;
      EXPECT_EQ(metric_unit(name), MetricUnit::kBytes);
      EXPECT_EQ(owners_prefix(name), prefix);
    }
  }
  for (const char* name : {"process.besideMalloc.a.bytes", "atMark.process.besideMalloc.a.bytes",
                           "end.process.besideMalloc..bytes", "end.process.besideMalloc.bytes",
                           "end.process.besideMalloc.a", "start.process.besideMalloc.a.bytes",
                           "end.process.besideMalloc.a/b.bytes"}) {
    EXPECT_FALSE(is_metric_name(name)) << name;
    EXPECT_EQ(owners_prefix(name), "");
  }
  EXPECT_EQ(owners_prefix("end.holes.bytes"), "");
}

// Of samples with `owners`, at the peak, a mark, a moment that is not ours, and the largest.
RunFigures with_owners(const std::string& owners) {
  const std::string process =
      R"({"anonymousBytes":100,"anonymous":{"mallocBytes":30,"besideMallocBytes":70,)"
      R"("stackBytes":10,"owners":[)" +
      owners + "]}}";
  const auto moment = [&](const char* name) {
    return std::string(R"({"name":")") + name + R"(","process":)" + process + "}";
  };
  const auto report = parse_report(
      "sample", R"({"version":1,"tape":{"path":"t","largestSample":)" + process +
                    R"(},"runs":[{"label":"a"}],"moments":[)" + moment("peak") + "," +
                    moment("mark:v1.2") + "," + moment("odd") + "," + moment("mark:") + "]}");
  EXPECT_TRUE(report.ok()) << report.error().message;
  return figures_of(*report).runs[0];
}

TEST_F(RunFiguresTest, HaveTheOwnersOfMemoryBesideMalloc) {
  const RunFigures run = with_owners(R"({"owner":"libarrow","bytes":40})");
  for (const std::string state : {"atPeak", "atMark.v1.2", "peak"}) {
    EXPECT_EQ(run.metric(state + ".process.besideMalloc.libarrow.bytes"), integer(40)) << state;
  }
  for (const Metric& metric : run.metrics) EXPECT_TRUE(is_metric_name(metric.name)) << metric.name;
}

TEST_F(RunFiguresTest, HaveNoMoreOfOwnersThanThereIs) {
  const RunFigures run = with_owners(
      R"({"owner":"a b","bytes":1},{"owner":"one","bytes":40},{"owner":"one","bytes":1},)"
      R"({"owner":"two","bytes":40},{"owner":"three","bytes":1})");
  EXPECT_FALSE(run.metric("peak.process.besideMalloc.a b.bytes").has_value());
  EXPECT_EQ(run.metric("peak.process.besideMalloc.one.bytes"), integer(40));
  EXPECT_EQ(run.metric("peak.process.besideMalloc.two.bytes"), integer(20));
  EXPECT_FALSE(run.metric("peak.process.besideMalloc.three.bytes").has_value());
}

TEST_F(RunFiguresTest, HaveTheLatenciesOfTheirCalls) {
  EXPECT_EQ(glibc("latency.malloc.p50Ns"), integer(21));
  EXPECT_EQ(glibc("latency.malloc.to64.maxAt"), integer(1234));
  EXPECT_FALSE(glibc("latency.free.p50Ns").has_value());
}

TEST_F(RunFiguresTest, CoverTheWholeCatalogInItsOrder) {
  std::vector<std::string> names;
  for (const Metric& metric : figures_.runs[0].metrics) {
    if (!metric.name.starts_with(kLatencyPrefix)) names.push_back(metric.name);
  }
  std::vector<std::string> wanted = metric_names();
  std::erase_if(wanted, [](const std::string& name) {  // only of recordings that began late
    return name.find(".account.late.") != name.npos;
  });
  EXPECT_EQ(names, wanted);
}

TEST_F(RunFiguresTest, SayWhatGrows) {
  EXPECT_EQ(figures_.runs[0].growth_verdicts, std::vector<std::string>{"free: cost grows"});
}

TEST_F(RunFiguresTest, NameTheTapeAndTheRun) {
  EXPECT_EQ(figures_.tape_events, 7300000u);
  EXPECT_EQ(figures_.tape_path, "server.tape");
  EXPECT_EQ(figures_.runs[1].label, "buddy");
  EXPECT_EQ(figures_.runs[1].backend, "model:buddy");
  EXPECT_EQ(figures_.runs[1].touch, "page");
}

TEST_F(RunFiguresTest, FollowDottedPaths) {
  EXPECT_EQ(glibc("end.liveBytes"), integer(52428800));
  EXPECT_EQ(glibc("end.holes.over1MiB"), integer(1));
  EXPECT_EQ(glibc("peak.holes.bytes"), integer(12000 * 2048));
  EXPECT_EQ(glibc("resizes.moved"), integer(40000));
}

TEST_F(RunFiguresTest, TakeAPeakForItsValueAndPlace) {
  EXPECT_EQ(glibc("peak.committedBytes"), integer(104857600));
  EXPECT_EQ(glibc("peak.committedBytes.at"), integer(6100000));
}

TEST_F(RunFiguresTest, KeepIntegersAndFloatsApart) {
  EXPECT_EQ(glibc("end.cumulativeBytesUpper"), integer(UINT64_MAX));
  EXPECT_EQ(glibc("fidelity.sameOffsetShare"), MetricValue(0.999));
  EXPECT_EQ(glibc("time.nsPerEvent"), MetricValue(81.25));
}

TEST_F(RunFiguresTest, HaveTheCountersOfTheirAllocator) {
  EXPECT_EQ(buddy("counters.nodesVisited"), integer(UINT64_MAX));
  EXPECT_FALSE(glibc("counters.nodesVisited").has_value());
}

TEST_F(RunFiguresTest, LackWhatTheWriterLeftOut) {
  capnp::MallocMessageBuilder message;
  auto run = message.initRoot<wire::Run>();
  run.initEnd();
  const RunFigures figures = figures_of(run.asReader());
  EXPECT_EQ(figures.metric("end.liveBytes"), integer(0));
  EXPECT_FALSE(figures.metric("end.holes.count").has_value());
  EXPECT_FALSE(figures.metric("peak.liveBytes").has_value());
}

TEST_F(RunFiguresTest, LackANumberThatTheTextLeavesOut) {
  EXPECT_FALSE(without(R"("liveCount": 200000,)").metric("end.liveCount").has_value());
  EXPECT_FALSE(without(R"("value": 250000, )").metric("peak.liveCount").has_value());
  EXPECT_EQ(without(R"("value": 250000, )").metric("peak.liveCount.at"), integer(6000000));
  EXPECT_FALSE(without(R"("lostEvents": 0, )").metric("tape.losses.lostEvents").has_value());
  EXPECT_FALSE(without(R"("samples": 3700000,)").metric("latency.malloc.samples").has_value());
}

TEST_F(RunFiguresTest, LackWhatAMarkWithoutItsStateWouldHave) {
  const auto report = parse_report(
      "a.json", R"({"version":1,"tape":{},"runs":[{"label":"a","atMarks":[{"name":"warm"}]}]})");
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_FALSE(figures_of(*report).runs[0].metric("atMark.warm.liveBytes").has_value());
}

// Of each run, operation and mark its own part of the text counts.
TEST_F(RunFiguresTest, LackANumberOnlyWhereTheTextLeavesItOut) {
  const auto report = parse_report(
      "sample", R"({"version":1,"tape":{"path":"t"},"runs":[{"end":{}},{"end":{"liveCount":3},
      "latency":[{"op":"malloc"},{"op":"free","samples":5}],
      "atMarks":[{"name":"a","state":{}},{"name":"b","state":{"liveCount":7}}]}]})");
  ASSERT_TRUE(report.ok()) << report.error().message;
  const std::vector<RunFigures> runs = figures_of(*report).runs;
  EXPECT_FALSE(runs[0].metric("end.liveCount").has_value());
  EXPECT_EQ(runs[1].metric("end.liveCount"), integer(3));
  EXPECT_FALSE(runs[1].metric("latency.malloc.samples").has_value());
  EXPECT_EQ(runs[1].metric("latency.free.samples"), integer(5));
  EXPECT_FALSE(runs[1].metric("atMark.a.liveCount").has_value());
  EXPECT_EQ(runs[1].metric("atMark.b.liveCount"), integer(7));
}

TEST_F(RunFiguresTest, LackWhatIsNotKnownOfAStateWithoutHoles) {
  const std::string state =
      R"({"liveBytes":1,"usableBytes":2,"slackBytes":3,"residentHoleBytes":4})";
  const auto report =
      parse_report("sample", R"({"version":1,"tape":{"path":"t"},"runs":[{"end":)" + state +
                                 R"(,"atMarks":[{"name":"a","state":)" + state + "}]}]}");
  ASSERT_TRUE(report.ok()) << report.error().message;
  const RunFigures run = figures_of(*report).runs[0];
  for (const std::string of : {"end.", "atMark.a."}) {
    EXPECT_EQ(run.metric(of + "liveBytes"), integer(1));
    for (const char* const name : {"usableBytes", "slackBytes", "residentHoleBytes"}) {
      EXPECT_FALSE(run.metric(of + name).has_value()) << of << name;
    }
  }
}

TEST_F(RunFiguresTest, KeepAZeroThatTheTextHas) {
  EXPECT_EQ(glibc("tape.losses.lostEvents"), integer(0));
  EXPECT_EQ(glibc("accounting.refused"), integer(0));
}

TEST_F(RunFiguresTest, LackNumbersThatAreNotFinite) {
  capnp::MallocMessageBuilder message;
  auto run = message.initRoot<wire::Run>();
  run.initTime().setNsPerEvent(std::numeric_limits<double>::infinity());
  EXPECT_FALSE(figures_of(run.asReader()).metric("time.nsPerEvent").has_value());
}

TEST_F(RunFiguresTest, HaveTextThatIsFitToPrint) {
  capnp::MallocMessageBuilder message;
  auto run = message.initRoot<wire::Run>();
  run.setLabel("\x1b[31mred\n");
  EXPECT_EQ(figures_of(run.asReader()).label, "\xef\xbf\xbd[31mred\xef\xbf\xbd");
}

}  // namespace
}  // namespace heaptape::schema
