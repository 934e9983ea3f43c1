// The size classes of model:runs and how the rule cuts runs for them.
#include "allocators/models/runs/run_geometry.h"

#include <gtest/gtest.h>

namespace heaptape::allocators::runs {
namespace {

struct Row {
  uint32_t region_bytes, pages, region_count, first_offset;
};

// What mozjemalloc computes at start-up on 64-bit Linux.
constexpr Row kRows[] = {
    {8, 1, 501, 88},   {16, 1, 252, 64},     {32, 1, 126, 64},     {48, 1, 84, 64},
    {64, 1, 63, 64},   {80, 1, 50, 96},      {96, 1, 42, 64},      {112, 2, 72, 128},
    {128, 2, 63, 128}, {144, 2, 56, 128},    {160, 2, 51, 32},     {176, 2, 46, 96},
    {192, 3, 63, 192}, {208, 3, 58, 224},    {224, 3, 54, 192},    {240, 3, 51, 48},
    {256, 4, 63, 256}, {272, 4, 60, 64},     {288, 4, 56, 256},    {304, 4, 53, 272},
    {320, 5, 63, 320}, {336, 5, 60, 320},    {352, 5, 58, 64},     {368, 5, 55, 240},
    {384, 6, 63, 384}, {400, 6, 61, 176},    {416, 6, 59, 32},     {432, 6, 56, 384},
    {448, 7, 63, 448}, {464, 7, 61, 368},    {480, 7, 59, 352},    {496, 7, 57, 400},
    {512, 8, 63, 512}, {1024, 16, 63, 1024}, {2048, 33, 65, 2048},
};

TEST(RunGeometry, FollowsFromTheSizingRuleForEveryClass) {
  ASSERT_EQ(std::size(kRows), kBinCount);
  for (uint32_t bin = 0; bin < kBinCount; ++bin) {
    const RunGeometry& run = kRunGeometries[bin];
    SCOPED_TRACE(kRows[bin].region_bytes);
    EXPECT_EQ(run.region_bytes, kRows[bin].region_bytes);
    EXPECT_EQ(run.pages, kRows[bin].pages);
    EXPECT_EQ(run.region_count, kRows[bin].region_count);
    EXPECT_EQ(run.first_offset, kRows[bin].first_offset);
  }
}

TEST(RunGeometry, FindsTheRegionOfAnyByte) {
  for (const RunGeometry& run : kRunGeometries) {
    for (uint64_t offset = run.first_offset; offset < run.run_bytes(); ++offset) {
      ASSERT_EQ(run.region_at(offset), (offset - run.first_offset) / run.region_bytes)
          << run.region_bytes << " at " << offset;
    }
  }
}

TEST(RunGeometry, GivesEverySizeTheSmallestClassThatHoldsIt) {
  for (uint64_t bytes = 1; bytes <= kSmallMaxBytes; ++bytes) {
    const uint32_t bin = bin_of(bytes);
    ASSERT_GE(kRunGeometries[bin].region_bytes, bytes);
    const uint64_t class_below = bin == 0 ? 0 : kRunGeometries[bin - 1].region_bytes;
    ASSERT_LT(class_below, bytes);
  }
}

TEST(RunGeometry, RoundsAnyNumberOfBytesUpToPages) {
  EXPECT_EQ(pages_for(1), 1u);
  EXPECT_EQ(pages_for(4096), 1u);
  EXPECT_EQ(pages_for(4097), 2u);
  EXPECT_EQ(pages_for(UINT64_MAX), uint64_t{1} << 52);
}

}  // namespace
}  // namespace heaptape::allocators::runs
