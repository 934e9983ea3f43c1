#include "replayer/report/html/timeline_data.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace heaptape::replayer {
namespace {

using schema::TimelineFigures;
using Samples = std::vector<size_t>;

std::string json(const std::vector<TimelineFigures>& runs, size_t most) {
  JsonWriter out;
  write_timelines(out, runs, most);
  return out.text();
}

TimelineFigures run_of(std::vector<uint64_t> values) {
  TimelineFigures run;
  for (size_t i = 0; i < values.size(); ++i) run.at.push_back(i);
  run.time_ns.resize(values.size());
  run.series.push_back({"residentBytes", schema::MetricUnit::kBytes, std::move(values)});
  return run;
}

TEST(Envelope, KeepsAllOfFew) {
  EXPECT_EQ(envelope({3, 1, 2}, 3), (Samples{0, 1, 2}));
  EXPECT_EQ(envelope({}, 3), Samples{});
}

TEST(Envelope, KeepsLowsAndHighsInTheirOrder) {
  EXPECT_EQ(envelope({5, 9, 1, 5, 7, 7, 0, 8, 3}, 6), (Samples{0, 1, 2, 6, 7, 8}));
}

TEST(Envelope, KeepsTheFirstAndTheLast) {
  EXPECT_EQ(envelope({5, 9, 1, 5, 4}, 4), (Samples{0, 1, 2, 4}));
  EXPECT_EQ(envelope({1, 5, 5, 9}, 3), (Samples{0, 3}));
  EXPECT_EQ(envelope({7}, 0), Samples{0});
}

TEST(Envelope, KeepsTheEndsOfALevelStretch) {
  EXPECT_EQ(envelope({5, 5, 5, 5, 7, 7, 7, 7}, 6), (Samples{0, 3, 4, 7}));
}

TEST(Envelope, HasNoMoreThanAskedAndLosesNoExtreme) {
  std::vector<uint64_t> values;
  for (uint64_t i = 0; i < 10'007; ++i) values.push_back(i * 7919 % 10'007);
  const Samples samples = envelope(values, 100);
  EXPECT_LE(samples.size(), 100u);
  EXPECT_TRUE(std::ranges::is_sorted(samples));
  const auto has = [&](uint64_t value) {
    return std::ranges::any_of(samples, [&](size_t at) { return values[at] == value; });
  };
  EXPECT_TRUE(has(0) && has(10'006));
}

TEST(TimelineData, HasEqualListsOnce) {
  EXPECT_EQ(json({run_of({0, 4}), run_of({0, 4})}, 1000),
            R"({"samples":2,"stretches":0,"series":[{"metric":"residentBytes","unit":"bytes",)"
            R"("runs":[{"at":0,"timeNs":1,"values":2},{"at":0,"timeNs":1,"values":2}]}],)"
            R"("lists":[[0,1],[0,0],[0,4]]})");
}

TEST(TimelineData, HasNothingOfRunsThatFailed) {
  EXPECT_NE(json({TimelineFigures(), run_of({1})}, 1000).find(R"("runs":[null,{)"),
            std::string::npos);
}

// Of lines that differ each has places and times of its own.
TEST(TimelineData, IsBoundedHoweverManySamplesThereAre) {
  constexpr size_t kMost = 1'000;
  std::vector<uint64_t> values;
  std::vector<uint64_t> others;
  for (uint64_t i = 0; i < 100'000; ++i) {
    values.push_back(i * 7919 % 100'003);
    others.push_back(i * 7907 % 100'003);
  }
  const std::string text = json({run_of(values), run_of(others)}, kMost);
  const std::string lists = text.substr(text.find("\"lists\""));
  EXPECT_LE(std::ranges::count(lists, ','), static_cast<long>(kMost));
  EXPECT_NE(text.find(R"("stretches":82)"), std::string::npos) << text.substr(0, 80);
}

}  // namespace
}  // namespace heaptape::replayer
