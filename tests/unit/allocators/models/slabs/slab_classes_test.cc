// The size classes of model:slabs, and how slabs are cut for them.
#include "allocators/models/slabs/slab_classes.h"

#include <gtest/gtest.h>

namespace heaptape::allocators::slabs {
namespace {

struct Row {
  uint32_t region_bytes, pages, regions;
};

// What jemalloc 5.3.0 computes at start-up (mallctl arenas.bin.*).
constexpr Row kRows[] = {
    {8, 1, 512},  {16, 1, 256},  {32, 1, 128}, {48, 3, 256},  {64, 1, 64},   {80, 5, 256},
    {96, 3, 128}, {112, 7, 256}, {128, 1, 32}, {160, 5, 128}, {192, 3, 64},  {224, 7, 128},
    {256, 1, 16}, {320, 5, 64},  {384, 3, 32}, {448, 7, 64},  {512, 1, 8},   {640, 5, 32},
    {768, 3, 16}, {896, 7, 32},  {1024, 1, 4}, {1280, 5, 16}, {1536, 3, 8},  {1792, 7, 16},
    {2048, 1, 2}, {2560, 5, 8},  {3072, 3, 4}, {3584, 7, 8},  {4096, 1, 1},  {5120, 5, 4},
    {6144, 3, 2}, {7168, 7, 4},  {8192, 2, 1}, {10240, 5, 2}, {12288, 3, 1}, {14336, 7, 2},
};

TEST(SlabClasses, CutSlabsWithoutARestForEveryClass) {
  ASSERT_EQ(std::size(kRows), kSmallClasses);
  for (uint32_t number = 0; number < kSmallClasses; ++number) {
    SCOPED_TRACE(kRows[number].region_bytes);
    EXPECT_EQ(kSlabs[number].region_bytes, kRows[number].region_bytes);
    EXPECT_EQ(kSlabs[number].pages, kRows[number].pages);
    EXPECT_EQ(kSlabs[number].regions, kRows[number].regions);
  }
}

TEST(SlabClasses, FindTheRegionOfAnyBlock) {
  for (const SlabGeometry& slab : kSlabs) {
    for (uint32_t region = 0; region < slab.regions; ++region) {
      ASSERT_EQ(slab.region_at(uint64_t{region} * slab.region_bytes), region) << slab.region_bytes;
    }
  }
}

TEST(SlabClasses, GiveEverySizeTheSmallestClassThatHoldsIt) {
  for (uint64_t bytes = 1; bytes <= 1 << 20; ++bytes) {
    const uint32_t number = class_of(bytes);
    ASSERT_GE(class_bytes(number), bytes);
    ASSERT_LT(number == 0 ? 0 : class_bytes(number - 1), bytes);
  }
}

TEST(SlabClasses, AreFourADoublingUpToTheLargest) {
  for (uint32_t number = kSmallClasses; number < kClasses; ++number) {
    const uint64_t bytes = class_bytes(number);
    EXPECT_EQ(class_of(bytes), number);
    EXPECT_EQ(class_of(bytes - 1), number);
    EXPECT_EQ(class_of(class_bytes(number - 1) + 1), number);
    if (number + 4 < kClasses) {
      EXPECT_EQ(class_bytes(number + 4), 2 * bytes);
    }
  }
  EXPECT_EQ(class_bytes(kSmallClasses), 16384u);
  EXPECT_EQ(class_bytes(kClasses - 1), kLargestBytes);
}

TEST(SlabClasses, HaveTwiceTheRegionsOfASlabForCacheSlotsWithin20And200) {
  EXPECT_EQ(cache_slots(class_of(8)), 200u);
  EXPECT_EQ(cache_slots(class_of(64)), 128u);
  EXPECT_EQ(cache_slots(class_of(256)), 32u);
  EXPECT_EQ(cache_slots(class_of(512)), 20u);
  EXPECT_EQ(cache_slots(class_of(14336)), 20u);
  EXPECT_EQ(cache_slots(class_of(32768)), 20u);
  EXPECT_EQ(class_of(32768), kCachedClasses - 1);
}

TEST(PageClasses, AreTheClassesInPages) {
  uint32_t page_class = 0;
  for (uint32_t number = 0; number < kClasses; ++number) {
    if (class_bytes(number) % kPageBytes != 0) continue;
    EXPECT_EQ(page_class_bytes(page_class), class_bytes(number));
    EXPECT_EQ(page_class_of(class_bytes(number)), page_class);
    EXPECT_EQ(page_class_of(class_bytes(number) + 1), page_class + 1);
    ++page_class;
  }
  EXPECT_EQ(page_class, kPageClasses - 1);
}

TEST(ExtentBins, HoldExtentsThatAreLargeEnough) {
  for (uint64_t wanted = kPageBytes; wanted < 1 << 20; wanted += kPageBytes) {
    const uint32_t bin = first_bin_for(wanted);
    for (uint64_t bytes = kPageBytes; bytes < 1 << 20; bytes += kPageBytes) {
      if (extent_bin_of(bytes) >= bin) {
        ASSERT_GE(bytes, wanted);
      }
    }
  }
}

TEST(ExtentBins, GiveALargeBlockAnExtentOfItsOwnSize) {
  for (uint32_t number = kSmallClasses; number < kClasses - 1; ++number) {
    const uint64_t bytes = class_bytes(number) + kLargePadBytes;
    EXPECT_EQ(first_bin_for(bytes), extent_bin_of(bytes));
  }
}

}  // namespace
}  // namespace heaptape::allocators::slabs
