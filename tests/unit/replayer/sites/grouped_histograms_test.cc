#include "replayer/sites/grouped_histograms.h"

#include <gtest/gtest.h>

namespace heaptape::replayer {
namespace {

TEST(GroupedHistograms, KnowTheValueAtARank) {
  GroupedHistograms histograms;
  for (const uint64_t value : {5, 1, 9, 1}) histograms.add(0, value);
  EXPECT_EQ(histograms.values_at({1})[0], 1u);
  EXPECT_EQ(histograms.values_at({2})[0], 1u);
  EXPECT_EQ(histograms.values_at({3})[0], 5u);
  EXPECT_EQ(histograms.values_at({4})[0], 9u);
}

TEST(GroupedHistograms, KeepGroupsApart) {
  GroupedHistograms histograms;
  histograms.add(0, 7);
  histograms.add(2, 8);
  histograms.add(2, UINT64_MAX);
  EXPECT_EQ(histograms.totals(3), (std::vector<uint64_t>{1, 0, 2}));
  EXPECT_EQ(histograms.values_at({1, 1, 1}),
            (std::vector<std::optional<uint64_t>>{7, std::nullopt, 8}));
}

TEST(GroupedHistograms, HaveNothingBeyondTheirValues) {
  GroupedHistograms histograms;
  histograms.add(0, 7);
  EXPECT_EQ(histograms.values_at({2})[0], std::nullopt);
  EXPECT_EQ(histograms.values_at({0})[0], std::nullopt);
}

TEST(GroupedHistograms, AgreeWithOneHistogramForEachGroup) {
  GroupedHistograms histograms;
  std::vector<LogHistogram> apart(500);
  for (uint64_t i = 0; i < 100'000; ++i) {
    const auto group = static_cast<uint32_t>(i % 500);
    const uint64_t value = i * i % 1'000'003;
    histograms.add(group, value);
    apart[group].add(value);
  }
  const auto medians = histograms.values_at(std::vector<uint64_t>(500, 100));
  for (size_t group = 0; group < 500; ++group) {
    EXPECT_EQ(medians[group], apart[group].value_at(100)) << group;
  }
}

}  // namespace
}  // namespace heaptape::replayer
