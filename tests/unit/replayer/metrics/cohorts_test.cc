#include "replayer/metrics/cohorts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace heaptape::replayer {
namespace {

TEST(Cohorts, AreOfOneSizeAndOneWindow) {
  Cohorts cohorts(160);
  cohorts.add(64, 1, 64);
  cohorts.add(64, 3, 64);
  cohorts.add(64, 160, 64);
  cohorts.add(100, 2, 100);
  const auto list = cohorts.list();
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].size_bytes, 64u);
  EXPECT_EQ(list[0].window, 0u);
  EXPECT_EQ(list[0].count, 2u);
  EXPECT_EQ(list[0].bytes, 128u);
  EXPECT_EQ(list[0].first_birth, 1u);
  EXPECT_EQ(list[0].last_birth, 3u);
  EXPECT_EQ(list[1].window, 14u);  // of eleven calls each
  EXPECT_EQ(list[2].size_bytes, 100u);
}

TEST(Cohorts, HaveTheLastCallInAWindow) {
  for (const uint64_t calls : {1, 15, 16, 17, 1000}) {
    Cohorts cohorts(calls);
    cohorts.add(8, calls, 8);
    EXPECT_LT(cohorts.list().at(0).window, Cohorts::kWindows);
  }
}

TEST(Cohorts, HaveWindowsThatEndWithACall) {
  Cohorts cohorts(159);  // of ten calls each
  for (uint64_t birth = 1; birth <= 159; ++birth) cohorts.add(8, birth, 8);
  const auto list = cohorts.list();
  ASSERT_EQ(list.size(), 16u);
  for (uint64_t window = 0; window < 16; ++window) {
    EXPECT_EQ(list[window].first_birth, 10 * window + 1);
    EXPECT_EQ(list[window].last_birth, std::min<uint64_t>(10 * window + 10, 159));
  }
}

TEST(Cohorts, TellTheSizesWithMostBytesApart) {
  Cohorts cohorts(1600);
  for (uint64_t i = 1; i <= 100; ++i) cohorts.add(i * 16, i, i * 16);
  const auto list = cohorts.list();
  uint64_t bytes = 0;
  uint64_t others = 0;
  for (const Cohort& cohort : list) {
    bytes += cohort.bytes;
    if (cohort.is_other_sizes) others += cohort.count;
  }
  EXPECT_EQ(bytes, 16u * 5050);
  EXPECT_EQ(others, 100u - 31);
  EXPECT_EQ(list.front().size_bytes, 16u * 70);
  EXPECT_FALSE(list.front().is_other_sizes);
}

TEST(Cohorts, HaveTheOtherSizesByPowersOfTwo) {
  Cohorts cohorts(16);
  for (uint64_t i = 0; i < 31; ++i) cohorts.add((i + 1) << 20, 1, (i + 1) << 20);
  for (const uint64_t size : {0, 1, 2, 255, 256, 300, 511, 512}) cohorts.add(size, 1, size);
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> bands;
  for (const Cohort& cohort : cohorts.list()) {
    if (cohort.is_other_sizes) bands[cohort.size_bytes] = {cohort.count, cohort.bytes};
  }
  const decltype(bands) expected = {
      {1, {2, 1}}, {2, {1, 2}}, {128, {1, 255}}, {256, {3, 1067}}, {512, {1, 512}}};
  EXPECT_EQ(bands, expected);
}

TEST(Cohorts, AreBornWhenTheFirstOfTheirOtherSizesWas) {
  Cohorts cohorts(160, 0);
  cohorts.add(16, 105, 16);
  cohorts.add(17, 103, 17);
  cohorts.add(18, 9, 18);
  const auto list = cohorts.list();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].first_birth, 9u);
  EXPECT_EQ(list[0].last_birth, 9u);
  EXPECT_EQ(list[1].first_birth, 103u);
  EXPECT_EQ(list[1].last_birth, 105u);
}

TEST(Cohorts, ListTheSizesThatCountForMostWhateverTheirOwn) {
  Cohorts cohorts(16, 1);
  cohorts.add(1'000'000, 1, 10);
  cohorts.add(8, 1, 5'000);
  const auto list = cohorts.list();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].size_bytes, 8u);
  EXPECT_EQ(list[0].bytes, 5'000u);
  EXPECT_TRUE(list[1].is_other_sizes);
}

TEST(Cohorts, AreNoneOfNoBlocks) {
  EXPECT_TRUE(Cohorts(0).list().empty());
}

}  // namespace
}  // namespace heaptape::replayer
