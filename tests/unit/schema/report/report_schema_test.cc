// The published schema of reports. HEAPTAPE_UPDATE_GOLDEN=1 writes it anew after a change of
// report.capnp.
#include <gtest/gtest.h>

#include <regex>

#include "tests/support/golden.h"
#include "tests/support/report_schema.h"
#include "tests/support/temp_dir.h"

namespace heaptape::tests {
namespace {

TEST(ReportSchema, IsWhatTheDocsPublish) {
  expect_golden("../../docs/report.schema.json", report_schema());
}

TEST(ReportSchema, HasEveryStructOfTheReport) {
  const std::string capnp = read_bytes(golden_path("../../schema/report/report.capnp"));
  const std::string schema = report_schema();
  const std::regex name("\nstruct (\\w+)");
  for (std::sregex_iterator it(capnp.begin(), capnp.end(), name), end; it != end; ++it) {
    EXPECT_NE(schema.find("\"" + (*it)[1].str() + "\": {"), std::string::npos) << (*it)[1];
  }
}

TEST(ReportSchema, KnowsTheTypeOfEveryField) {
  EXPECT_EQ(report_schema().find("a type that"), std::string::npos);
}

}  // namespace
}  // namespace heaptape::tests
