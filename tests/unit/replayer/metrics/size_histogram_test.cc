#include "replayer/metrics/size_histogram.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/sizes.h"

namespace heaptape::replayer {
namespace {

using tests::kGiB;

void add(SizeHistogram& sizes, uint64_t size, int times) {
  for (int i = 0; i < times; ++i) sizes.add(size);
}

// "FROM-TO" of the bucket of one size.
std::string bucket_text(uint64_t size) {
  SizeHistogram sizes;
  sizes.add(size);
  const SizeBucket bucket = sizes.buckets().at(0);
  return std::to_string(bucket.from) + "-" + std::to_string(bucket.to);
}

// The first sizes of the buckets that are over-represented in calls, each behind a blank.
std::string standing_out(const SizeHistogram& sizes) {
  std::string text;
  for (const SizeBucket& bucket : sizes.buckets()) {
    if (bucket.by_calls) text += " " + std::to_string(bucket.from);
  }
  return text;
}

// Sixteen neighbors with as many calls each.
TEST(SizeHistogram, StandsOutFromFourTimesItsNeighborsOn) {
  for (int around = 1; around <= 4; ++around) {
    for (int calls = 1; calls <= 20; ++calls) {
      SizeHistogram sizes;
      for (uint64_t bucket = 12; bucket <= 28; ++bucket)
        add(sizes, bucket * 16, bucket == 20 ? calls : around);
      EXPECT_EQ(standing_out(sizes).find(" 305") != std::string::npos, calls >= 4 * around)
          << calls << " " << around;
    }
  }
}

TEST(SizeHistogram, StandsOutFromAHundredthOfAllOn) {
  for (const int others : {197, 198, 199}) {
    SizeHistogram sizes;
    add(sizes, 320, 2);
    add(sizes, 2 * kGiB, others);
    EXPECT_EQ(standing_out(sizes), others <= 198 ? " 305" : "") << others;
  }
}

TEST(SizeHistogram, HasBucketsOf16BytesThatEndWhereSizeClassesDo) {
  EXPECT_EQ(bucket_text(0), "0-16");
  EXPECT_EQ(bucket_text(16), "0-16");
  EXPECT_EQ(bucket_text(17), "17-32");
  EXPECT_EQ(bucket_text(32768), "32753-32768");
}

TEST(SizeHistogram, HasBucketsOf32KiBBeyond32KiB) {
  EXPECT_EQ(bucket_text(32769), "32769-65536");
  EXPECT_EQ(bucket_text(65536), "32769-65536");
  EXPECT_EQ(bucket_text(65537), "65537-98304");
  EXPECT_EQ(bucket_text(kGiB), std::to_string(kGiB - 32767) + "-" + std::to_string(kGiB));
}

TEST(SizeHistogram, HasOneBucketBeyondOneGiB) {
  const std::string beyond = std::to_string(kGiB + 1) + "-18446744073709551615";
  EXPECT_EQ(bucket_text(kGiB + 1), beyond);
  EXPECT_EQ(bucket_text(UINT64_MAX), beyond);
}

TEST(SizeHistogram, KnowsWhatWasAskedForInABucket) {
  SizeHistogram sizes;
  for (const uint64_t size : {24, 20, 31}) sizes.add(size);
  const SizeCounts counts = sizes.buckets().at(0).counts;
  EXPECT_EQ(counts.calls, 3u);
  EXPECT_EQ(counts.bytes, 75u);
  EXPECT_EQ(counts.smallest, 20u);
  EXPECT_EQ(counts.largest, 31u);
}

TEST(SizeHistogram, CountsWhatIsStillThere) {
  SizeHistogram sizes;
  add(sizes, 24, 3);
  sizes.remove(20);
  EXPECT_EQ(sizes.buckets().at(0).counts.live_count, 2u);
  EXPECT_EQ(sizes.buckets().at(0).counts.calls, 3u);
}

TEST(SizeHistogram, SumsUpAllBuckets) {
  SizeHistogram sizes;
  for (const uint64_t size : {24, 100'000, 5}) sizes.add(size);
  EXPECT_EQ(sizes.total().calls, 3u);
  EXPECT_EQ(sizes.total().bytes, 100'029u);
  EXPECT_EQ(sizes.total().smallest, 5u);
  EXPECT_EQ(sizes.total().largest, 100'000u);
}

TEST(OverRepresentedSizes, AreNotThereWhereAllSizesAreAlike) {
  SizeHistogram sizes;
  for (uint64_t size = 1; size <= 800; ++size) sizes.add(size);
  EXPECT_EQ(standing_out(sizes), "");
}

TEST(OverRepresentedSizes, AreFourTimesTheMedianOfTheirNeighbours) {
  SizeHistogram sizes;
  for (uint64_t size = 16; size <= 800; size += 16) add(sizes, size, 10);
  add(sizes, 304, 29);
  EXPECT_EQ(standing_out(sizes), "");
  add(sizes, 304, 1);
  EXPECT_EQ(standing_out(sizes), " 289");
}

TEST(OverRepresentedSizes, AreAHundredthOfAll) {
  SizeHistogram sizes;
  add(sizes, 8, 990);
  add(sizes, 800, 9);
  EXPECT_EQ(standing_out(sizes), " 0");
  add(sizes, 800, 1);
  EXPECT_EQ(standing_out(sizes), " 0 785");
}

TEST(OverRepresentedSizes, StandOutBesideEachOther) {
  SizeHistogram sizes;
  for (uint64_t size = 16; size <= 800; size += 16) add(sizes, size, 1);
  for (const uint64_t size : {304, 320, 336}) add(sizes, size, 100);
  EXPECT_EQ(standing_out(sizes), " 289 305 321");
}

TEST(OverRepresentedSizes, AreFoundByBytesToo) {
  SizeHistogram sizes;
  add(sizes, 10, 1000);
  sizes.add(100'000);
  const std::vector<SizeBucket> buckets = sizes.buckets();
  EXPECT_FALSE(buckets.at(1).by_calls);
  EXPECT_TRUE(buckets.at(1).by_bytes);
}

TEST(OverRepresentedSizes, HaveNeighboursOfTheirOwnWidthOnly) {
  SizeHistogram sizes;
  for (uint64_t size = 32'768 - 16 * 20; size <= 32'768; size += 16) add(sizes, size, 10);
  add(sizes, 40'000, 30);
  EXPECT_EQ(standing_out(sizes), " 32769");
}

TEST(OverRepresentedSizes, AreNotTheOnesBeyondAllBuckets) {
  SizeHistogram sizes;
  sizes.add(2 * kGiB);
  EXPECT_EQ(standing_out(sizes), "");
}

}  // namespace
}  // namespace heaptape::replayer
