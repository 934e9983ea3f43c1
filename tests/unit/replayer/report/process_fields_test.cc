// A sample of the process in a report, and read back from it.
#include <capnp/message.h>
#include <gtest/gtest.h>

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

TEST(ProcessFields, OmitOwnersThatAreNotKnown) {
  EXPECT_EQ(times_in(report_json(sample_of({})), "owners"), 0u);
}

}  // namespace
}  // namespace heaptape::replayer
