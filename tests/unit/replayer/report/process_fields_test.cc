// A sample of the process in a report, and read back from it.
#include <capnp/message.h>
#include <gtest/gtest.h>

#include "replayer/report/process_fields.h"
#include "replayer/report/state_fields.h"
#include "schema/report/report_figures.h"
#include "schema/report/report_json.h"

namespace heaptape::replayer {
namespace {

namespace wire = schema::wire;

constexpr char kOwners[] =
    R"("owners": [{"owner": "libarrow", "bytes": 400}, {"owner": "python3.11", "bytes": 50}])";

// A report with one run, a moment and the largest sample.
std::string report_json(const schema::ProcessSample& sample) {
  capnp::MallocMessageBuilder message;
  auto report = message.initRoot<wire::Report>();
  report.setVersion(wire::REPORT_VERSION);
  report.initTape().setPath("a.tape");
  set_process(report.getTape().initLargestSample(), sample);
  report.initRuns(1)[0].setLabel("glibc");
  Moment moment{.name = "peak", .event = 7};
  moment.process = sample;
  set_moment(report.initMoments(1)[0], moment);
  return *schema::to_json(report.asReader());
}

schema::ProcessSample sample_of(std::vector<schema::OwnedMemory> owners) {
  schema::ProcessSample sample{7, 0, 1000, {}, {100}};
  sample.parts.stack_bytes = 10;
  sample.parts.owners = std::move(owners);
  return sample;
}

size_t times_in(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

TEST(ProcessFields, NameTheOwnersAtAMomentAndOfTheLargestSample) {
  const auto owners = std::vector<schema::OwnedMemory>{{"libarrow", 400}, {"python3.11", 50}};
  const std::string json = report_json(sample_of(owners));
  EXPECT_EQ(times_in(json, kOwners), 2u) << json;
  const auto parsed = schema::parse_report("a.json", json);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const schema::ReportFigures figures = schema::figures_of(*parsed);
  ASSERT_EQ(figures.moments.size(), 1u);
  EXPECT_EQ(figures.moments[0].process->owners, owners);
  EXPECT_EQ(figures.largest->owners, owners);
}

TEST(ProcessTimeline, HasAValueOfEachOwnerForEachSample) {
  capnp::MallocMessageBuilder message;
  auto report = message.initRoot<wire::Report>();
  report.setVersion(wire::REPORT_VERSION);
  schema::ProcessSample first{5, 70, 900, {}, {90}};
  first.parts.owners = {{"data", 8}};
  set_process_timeline(
      report.initProcess(),
      {first, sample_of({{"libarrow", 400}, {"python3.11", 50}}), sample_of({{"libarrow", 7}})});
  const std::string expected =
      R"("process": {
    "at": [5, 7, 7],
    "timeNs": [70, 0, 0],
    "anonymousBytes": [900, 1000, 1000],
    "mallocBytes": [90, 100, 100],
    "stackBytes": [0, 10, 10],
    "owners": [{"owner": "libarrow", "bytes": [0, 400, 7]}, )"
      R"({"owner": "python3.11", "bytes": [0, 50, 0]}, {"owner": "data", "bytes": [8, 0, 0]}] })";
  const std::string json = *schema::to_json(report.asReader());
  EXPECT_NE(json.find(expected), std::string::npos) << json;
}

TEST(ProcessTimeline, HasTheOwnersWithMostMemory) {
  capnp::MallocMessageBuilder message;
  auto timeline = message.initRoot<wire::ProcessTimeline>();
  std::vector<schema::OwnedMemory> owners;
  for (uint64_t i = 1; i <= kMostListedOwners + 1; ++i) {
    owners.push_back({"lib" + std::to_string(i), i});
  }
  set_process_timeline(timeline, {sample_of(owners)});
  ASSERT_EQ(timeline.getOwners().size(), kMostListedOwners);
  EXPECT_EQ(timeline.getOwners()[kMostListedOwners - 1].getBytes()[0], 2u);
}

TEST(ProcessFields, OmitOwnersThatAreNotKnown) {
  EXPECT_EQ(times_in(report_json(sample_of({})), "owners"), 0u);
}

}  // namespace
}  // namespace heaptape::replayer
