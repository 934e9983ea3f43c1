#include "replayer/metrics/log_histogram.h"

#include <gtest/gtest.h>

namespace heaptape::replayer {
namespace {

LogHistogram histogram_of(const std::vector<uint64_t>& values) {
  LogHistogram histogram;
  for (const uint64_t value : values) histogram.add(value);
  return histogram;
}

LogHistogram::Bucket bucket_of(uint64_t value) {
  return histogram_of({value}).buckets().at(0);
}

TEST(LogHistogram, HasABucketForEachSmallValue) {
  for (uint64_t value = 0; value < 64; ++value) {
    EXPECT_EQ(bucket_of(value).from, value);
    EXPECT_EQ(bucket_of(value).to, value);
  }
}

TEST(LogHistogram, LeavesNoValueBetweenItsBuckets) {
  for (uint64_t value = 64; value < 1'000'000;) {
    const LogHistogram::Bucket bucket = bucket_of(value);
    ASSERT_EQ(bucket.from, value);
    ASSERT_EQ(bucket_of(bucket.to).from, value);
    value = bucket.to + 1;
  }
}

TEST(LogHistogram, HasBucketsNoWiderThanAPartOfTheirValues) {
  for (uint64_t value = 64; value != 0; value <<= 1) {
    const LogHistogram::Bucket bucket = bucket_of(value + value / 3);
    EXPECT_LE(bucket.to - bucket.from + 1, bucket.from / 32);
  }
}

TEST(LogHistogram, TakesTheGreatestValueThereIs) {
  EXPECT_EQ(bucket_of(UINT64_MAX).to, UINT64_MAX);
}

TEST(LogHistogram, FindsTheValueOfARank) {
  const LogHistogram histogram = histogram_of({7, 3, 5});
  EXPECT_EQ(histogram.value_at(1), 3u);
  EXPECT_EQ(histogram.value_at(2), 5u);
  EXPECT_EQ(histogram.value_at(3), 7u);
}

TEST(LogHistogram, HasNoValueForARankBeyond) {
  EXPECT_EQ(histogram_of({7}).value_at(2), std::nullopt);
  EXPECT_EQ(histogram_of({7}).value_at(0), std::nullopt);
}

TEST(LogHistogram, FindsLargeValuesWithinA64th) {
  for (uint64_t value = 100; value < UINT64_MAX / 3; value *= 3) {
    const uint64_t found = *histogram_of({value}).value_at(1);
    EXPECT_LE(found > value ? found - value : value - found, value / 64) << value;
  }
}

}  // namespace
}  // namespace heaptape::replayer
