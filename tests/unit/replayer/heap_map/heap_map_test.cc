#include "replayer/heap_map/heap_map.h"

#include <gtest/gtest.h>

namespace heaptape::replayer {
namespace {

using Ranges = std::vector<AddressRange>;

// A region of 64 KiB, and blocks in it by their offset.
class HeapMapTest : public testing::Test {
 protected:
  static constexpr uint64_t kBase = 0x555555550000;
  static constexpr uint64_t kSize = 0x10000;

  static AddressRange range(uint64_t begin, uint64_t end) { return {kBase + begin, kBase + end}; }
  void place(uint64_t offset, uint64_t bytes) { map_.place(kBase + offset, bytes); }
  void remove(uint64_t offset, uint64_t bytes) { map_.remove(kBase + offset, bytes); }
  void SetUp() override { map_.commit(range(0, kSize)); }

  // Asks both ways.
  void expect_holes(const Ranges& holes, uint64_t top_bytes) {
    uint64_t bytes = 0;
    for (const AddressRange hole : holes) bytes += hole.bytes();
    EXPECT_EQ(map_.scan_holes(), holes);
    EXPECT_EQ(map_.holes().count, holes.size());
    EXPECT_EQ(map_.holes().bytes, bytes);
    EXPECT_EQ(map_.holes().top_bytes, top_bytes);
  }

  HeapMap map_{4, 32};
};

TEST_F(HeapMapTest, CountsAnEmptyRegionAsTop) {
  expect_holes({}, kSize);
}

TEST_F(HeapMapTest, CountsTheGapBetweenTwoBlocks) {
  place(0x10, 24);
  place(0x100, 24);
  expect_holes({range(0x30, 0x100)}, kSize - 0x120);
}

TEST_F(HeapMapTest, JoinsTheGapsAroundAFreedBlock) {
  place(0x10, 24);
  place(0x80, 24);
  place(0x100, 24);
  remove(0x80, 24);
  expect_holes({range(0x30, 0x100)}, kSize - 0x120);
}

TEST_F(HeapMapTest, GivesTheEndBackToTheTop) {
  place(0x10, 24);
  place(0x80, 24);
  remove(0x80, 24);
  expect_holes({}, kSize - 0x30);
}

TEST_F(HeapMapTest, TakesAShortGapAtTheBeginningForAHeader) {
  place(4080, 16);
  expect_holes({}, kSize - 4096);
  remove(4080, 16);
  place(4096, 16);
  expect_holes({range(0, 4096)}, kSize - 4112);
}

TEST_F(HeapMapTest, IgnoresGapsTooSmallForABlock) {
  place(0x10, 16);
  place(0x30, 16);  // 16 bytes after
  place(0x60, 16);  // 32 bytes after
  expect_holes({range(0x40, 0x60)}, kSize - 0x70);
}

TEST_F(HeapMapTest, OccupiesEveryGranuleABlockTouches) {
  place(0x18, 24);  // one that is not aligned
  place(0x60, 1);
  expect_holes({range(0x30, 0x60)}, kSize - 0x70);
}

TEST_F(HeapMapTest, GivesABlockOfNoBytesOneGranule) {
  place(0x10, 0);
  expect_holes({}, kSize - 0x20);
  remove(0x10, 0);
  expect_holes({}, kSize);
}

TEST_F(HeapMapTest, ResizesInPlace) {
  place(0x10, 24);
  place(0x200, 24);
  map_.resize(kBase + 0x10, 24, 0x100);
  expect_holes({range(0x110, 0x200)}, kSize - 0x220);
  map_.resize(kBase + 0x10, 0x100, 0x10);
  expect_holes({range(0x20, 0x200)}, kSize - 0x220);
}

TEST_F(HeapMapTest, ResizesTheLastBlockIntoTheTop) {
  place(0x10, 24);
  map_.resize(kBase + 0x10, 24, kSize - 0x10);
  expect_holes({}, 0);
  map_.resize(kBase + 0x10, kSize - 0x10, 16);
  expect_holes({}, kSize - 0x20);
}

TEST_F(HeapMapTest, TurnsTheTopIntoAHoleWhenARegionGrowsPastABlock) {
  place(0x10, 16);
  place(kSize + 0x10, 16);  // not committed yet
  expect_holes({}, kSize - 0x20);
  map_.commit(range(kSize, kSize + 0x1000));
  expect_holes({range(0x20, kSize + 0x10)}, 0x1000 - 0x20);
}

TEST_F(HeapMapTest, CutsAHoleWhereMemoryIsDecommitted) {
  place(0, 16);
  place(0xf000, 16);
  map_.decommit(range(0x4000, 0x5000));
  expect_holes({range(0x5000, 0xf000)}, 0x4000 - 16 + 0xff0);
}

TEST_F(HeapMapTest, CountsGapsRightWhenBlocksLoseTheirMemory) {
  place(0x1000, 16);
  place(0x8000, 16);
  map_.decommit(range(0, kSize));
  expect_holes({}, 0);
  remove(0x1000, 16);
  map_.commit(range(0, kSize));
  expect_holes({range(0, 0x8000)}, kSize - 0x8010);
}

TEST_F(HeapMapTest, LetsABlockSpanRegionsThatJoinLater) {
  map_.decommit(range(0x2000, 0x3000));
  place(0x1800, 0x2000);
  expect_holes({range(0, 0x1800)}, 0x10000 - 0x3800);
  map_.commit(range(0x2000, 0x3000));
  expect_holes({range(0, 0x1800)}, 0x10000 - 0x3800);
}

TEST_F(HeapMapTest, SeesThatABlockBeginsBeforeItsRegion) {
  map_.commit(range(0x100000, 0x110000));
  place(0xf0000, 0x10000 + 0x2000);
  place(0x104000, 16);
  expect_holes({range(0x102000, 0x104000)}, kSize + 0x110000 - 0x104010);
}

TEST_F(HeapMapTest, CommitsTheSameMemoryOnce) {
  place(0x10, 16);
  map_.commit(range(0x1000, 0x2000));
  map_.commit(range(0, kSize));
  EXPECT_EQ(map_.committed_bytes(), kSize);
  expect_holes({}, kSize - 0x20);
}

TEST_F(HeapMapTest, WidensRangesToGranules) {
  map_.commit({kBase + 0x100008, kBase + 0x100018});
  EXPECT_EQ(map_.regions(), (Ranges{range(0, kSize), range(0x100000, 0x100020)}));
}

TEST_F(HeapMapTest, CountsTheAbsentPartOfHolesOnly) {
  place(0x10, 16);
  place(0x4000, 16);
  EXPECT_EQ(map_.absent_hole_bytes(Ranges{range(0x1000, 0x2000), range(0x3000, 0x8000)}), 0x2000u);
  EXPECT_EQ(map_.absent_hole_bytes(Ranges{range(0, kSize)}), map_.holes().bytes);
  EXPECT_EQ(map_.absent_hole_bytes({}), 0u);
  // All but a page, and what is no memory at all: the same by subtraction.
  EXPECT_EQ(map_.absent_hole_bytes(Ranges{range(0, 0x1000), range(0x2000, 0x100000)}),
            map_.holes().bytes - map_.absent_hole_bytes(Ranges{range(0x1000, 0x2000)}));
}

TEST_F(HeapMapTest, HoldsABlockOfTheWholeAddressSpace) {
  place(0x100, UINT64_MAX);
  expect_holes({}, 0);
  map_.place(UINT64_MAX, UINT64_MAX);
  remove(0x100, UINT64_MAX);
  expect_holes({}, kSize);
}

TEST_F(HeapMapTest, TellsABlockThatOverlapsAnother) {
  EXPECT_TRUE(map_.place(kBase + 0x100, 0x1000));
  EXPECT_TRUE(map_.place(kBase + 0x1100, 0x10));
  EXPECT_FALSE(map_.place(kBase + 0x200, 0x20)) << "inside of one";
  EXPECT_FALSE(map_.place(kBase + 0x10f0, 0x20)) << "over the end of one";
  EXPECT_FALSE(map_.place(kBase + 0x10, 0x9000)) << "around all";
}

TEST_F(HeapMapTest, TellsOverlapsOutsideOfAllRegions) {
  EXPECT_TRUE(map_.place(kBase + kSize + 0x100, 0x1000));
  EXPECT_FALSE(map_.place(kBase + kSize + 0x200, 0x20));
  EXPECT_TRUE(map_.place(kBase + kSize + 0x2000, 0x20));
}

TEST_F(HeapMapTest, TellsABlockThatGrowsOverAnother) {
  EXPECT_TRUE(map_.place(kBase + 0x100, 0x100));
  EXPECT_TRUE(map_.place(kBase + 0x400, 0x100));
  EXPECT_TRUE(map_.resize(kBase + 0x100, 0x100, 0x300));
  EXPECT_FALSE(map_.resize(kBase + 0x100, 0x300, 0x310));
}

TEST_F(HeapMapTest, ForgetsOverlappingBlocksWhenTheyAreGone) {
  place(0x100, 0x100);
  place(0x180, 0x100);
  place(0x100, 0x20);
  remove(0x180, 0x100);
  remove(0x100, 0x100);
  remove(0x100, 0x20);
  expect_holes({}, kSize);
}

TEST_F(HeapMapTest, SurvivesTheRemovalOfWhatWasNotPlaced) {
  place(0x10, 16);
  place(0x200, 16);
  remove(0x100, 64);
  map_.resize(kBase + 0x180, 16, 32);
  remove(0x180, 32);
  expect_holes({range(0x20, 0x200)}, kSize - 0x210);
}

TEST(HeapMap, TellsEightByteGranulesApart) {
  HeapMap map(3, 8);
  map.commit({0x10000, 0x20000});
  map.place(0x10000, 8);
  map.place(0x10010, 8);
  EXPECT_EQ(map.scan_holes(), (Ranges{{0x10008, 0x10010}}));
  EXPECT_EQ(map.holes().bytes, 8u);
}

}  // namespace
}  // namespace heaptape::replayer
