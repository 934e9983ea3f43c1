#include <gtest/gtest.h>

#include "allocators/native/latency_summary.h"
#include "allocators/native/worker/worker_protocol.h"
#include "tests/support/tapes.h"

namespace heaptape::allocators {
namespace {

constexpr uint32_t kLastBucket = latency_bucket(UINT64_MAX);

TEST(LatencyBucket, IsTheValueItselfBelow16) {
  for (uint64_t ticks = 0; ticks < 16; ++ticks) {
    EXPECT_EQ(latency_bucket(ticks), ticks);
    EXPECT_EQ(latency_bucket_end(static_cast<uint32_t>(ticks)), ticks);
  }
}

TEST(LatencyBucket, FitsTheTableForAnyValue) {
  EXPECT_LT(kLastBucket, kLatencyBuckets);
  EXPECT_EQ(latency_bucket_end(kLastBucket), UINT64_MAX);
}

TEST(LatencyBucket, EndsBehindTheOneBefore) {
  for (uint32_t bucket = 1; bucket <= kLastBucket; ++bucket) {
    EXPECT_GT(latency_bucket_end(bucket), latency_bucket_end(bucket - 1)) << bucket;
  }
}

TEST(LatencyBucket, HoldsItsEndAndNothingBehindIt) {
  for (uint32_t bucket = 0; bucket <= kLastBucket; ++bucket) {
    const uint64_t end = latency_bucket_end(bucket);
    EXPECT_EQ(latency_bucket(end), bucket);
    EXPECT_EQ(latency_bucket(end + (end != UINT64_MAX)), std::min(bucket + 1, kLastBucket));
  }
}

TEST(LatencyBucket, IsOffByLessThanASixteenth) {
  tests::Random random(1);
  for (int i = 0; i < 100000; ++i) {
    const uint64_t ticks = random.next() >> random.below(64);
    const uint64_t end = latency_bucket_end(latency_bucket(ticks));
    ASSERT_GE(end, ticks);
    ASSERT_LE(end - ticks, ticks / 16) << ticks;
  }
}

TEST(SizeBand, EndsWithItsGreatestSize) {
  EXPECT_EQ(size_band(0), 0);
  EXPECT_EQ(size_band(64), 0);
  EXPECT_EQ(size_band(65), 1);
  EXPECT_EQ(size_band(4096), 2);
  EXPECT_EQ(size_band(131072), 3);
  EXPECT_EQ(size_band(131073), 4);
  EXPECT_EQ(size_band(UINT64_MAX), kSizeBands - 1);
}

TEST(LatencyHistogram, LeavesOutWhatItsStampsTake) {
  LatencyHistogram histogram = {};
  histogram.note(61, 10, 7);
  EXPECT_EQ(histogram.max_ticks, 3u);
  EXPECT_EQ(histogram.buckets[3], 1u);
}

TEST(LatencyHistogram, HasNoTimeBelowNothing) {
  LatencyHistogram histogram = {};
  histogram.note(61, 5, 7);
  EXPECT_EQ(histogram.buckets[0], 1u);
  EXPECT_EQ(histogram.max_event, 61u);
}

TEST(LatencyHistogram, NamesTheFirstOfTheSlowestCalls) {
  LatencyHistogram histogram = {};
  histogram.note(61, 10, 0);
  histogram.note(122, 12, 0);
  histogram.note(183, 12, 0);
  histogram.note(244, 11, 0);
  EXPECT_EQ(histogram.max_ticks, 12u);
  EXPECT_EQ(histogram.max_event, 122u);
}

TEST(LatencyQuantile, IsTheBucketOfTheSampleAtThatRank) {
  uint64_t buckets[kLatencyBuckets] = {};
  buckets[3] = 50;
  buckets[7] = 49;
  buckets[9] = 1;
  EXPECT_EQ(latency_quantile(buckets, 100, 0.49), 3u);
  EXPECT_EQ(latency_quantile(buckets, 100, 0.5), 7u);
  EXPECT_EQ(latency_quantile(buckets, 100, 0.98), 7u);
  EXPECT_EQ(latency_quantile(buckets, 100, 0.99), 9u);
  EXPECT_EQ(latency_quantile(buckets, 100, 1.0), 9u);
}

}  // namespace
}  // namespace heaptape::allocators
