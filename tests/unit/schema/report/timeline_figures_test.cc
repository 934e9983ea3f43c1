#include "schema/report/timeline_figures.h"

#include <gtest/gtest.h>

#include "schema/report/report_figures.h"
#include "schema/report/report_json.h"
#include "tests/support/reports.h"

namespace heaptape::schema {
namespace {

TimelineFigures timeline_of_json(const std::string& json) {
  const auto report = parse_report("a.json", json);
  EXPECT_TRUE(report.ok());
  return timeline_of(report->root().getRuns()[0]);
}

TEST(TimelineFigures, HasEverySeriesOfTheReport) {
  const TimelineFigures figures = timeline_of_json(tests::sample_report_json());
  ASSERT_FALSE(figures.at.empty());
  std::vector<std::string> names;
  for (const TimelineFigures::Series& series : figures.series) {
    EXPECT_EQ(series.values.size(), figures.at.size()) << series.name;
    names.push_back(series.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"liveBytes", "committedBytes"}));
}

TEST(TimelineFigures, LeavesOutListsOfOtherLengths) {
  const TimelineFigures figures = timeline_of_json(
      R"({"version": 1, "tape": {}, "runs": [{"timeline": {"at": [1, 2], "liveBytes": [5, 6],
          "residentBytes": [7], "holes": {"count": [1, 3]}}}]})");
  ASSERT_EQ(figures.series.size(), 2u);
  EXPECT_EQ(figures.series[0].name, "liveBytes");
  EXPECT_EQ(figures.series[0].unit, MetricUnit::kBytes);
  EXPECT_EQ(figures.series[1].name, "holes.count");
  EXPECT_EQ(figures.time_ns, (std::vector<uint64_t>{0, 0}));
}

}  // namespace
}  // namespace heaptape::schema
