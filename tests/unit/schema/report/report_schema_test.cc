// The published schema of reports. HEAPTAPE_UPDATE_GOLDEN=1 writes it anew after a change of
// report.capnp.
#include <gtest/gtest.h>

#include "tests/support/golden.h"
#include "tests/support/report_schema.h"

namespace heaptape::tests {
namespace {

TEST(ReportSchema, IsWhatTheDocsPublish) {
  expect_golden("../../docs/report.schema.json", report_schema());
}

TEST(ReportSchema, KnowsTheTypeOfEveryField) {
  EXPECT_EQ(report_schema().find("a type that"), std::string::npos);
}

}  // namespace
}  // namespace heaptape::tests
