// Free address ranges: joining, and the two ways to take from them.
#include "allocators/models/free_extents.h"

#include <gtest/gtest.h>

namespace heaptape::allocators {
namespace {

using Extents = std::map<uint64_t, uint64_t>;

class FreeExtentsTest : public testing::Test {
 protected:
  FreeExtents extents_;
};

TEST_F(FreeExtentsTest, JoinsARangeWithBothNeighbours) {
  extents_.insert({0x1000, 0x2000});
  extents_.insert({0x3000, 0x4000});
  extents_.insert({0x2000, 0x3000});
  EXPECT_EQ(extents_.by_address(), (Extents{{0x1000, 0x4000}}));
  EXPECT_EQ(extents_.total_bytes(), 0x3000u);
}

TEST_F(FreeExtentsTest, KeepsApartWhatDoesNotTouch) {
  extents_.insert({0x3000, 0x4000});
  extents_.insert({0x1000, 0x2000});
  EXPECT_EQ(extents_.by_address(), (Extents{{0x1000, 0x2000}, {0x3000, 0x4000}}));
}

TEST_F(FreeExtentsTest, TakesTheBestFitFromTheLowestOfEquals) {
  extents_.insert({0x1000, 0x9000});
  extents_.insert({0xa000, 0xc000});
  extents_.insert({0xd000, 0xf000});
  EXPECT_EQ(extents_.take_best(0x2000, 0x1000, 0), 0xa000u);
  EXPECT_EQ(extents_.take_best(0x1000, 0x1000, 0), 0xd000u);
  EXPECT_EQ(extents_.by_address(), (Extents{{0x1000, 0x9000}, {0xe000, 0xf000}}));
}

TEST_F(FreeExtentsTest, TakesTheLowestPlaceThatFits) {
  extents_.insert({0x1000, 0x2000});
  extents_.insert({0x3000, 0x9000});
  extents_.insert({0xa000, 0xc000});
  EXPECT_EQ(extents_.take_lowest(0x2000, 0x1000), 0x3000u);
  EXPECT_EQ(extents_.take_lowest(0x10000, 0x1000), 0u);
}

TEST_F(FreeExtentsTest, TakesTheHighestPlaceThatFits) {
  extents_.insert({0x1000, 0x2000});
  extents_.insert({0x3000, 0x9000});
  extents_.insert({0xa000, 0xb000});
  EXPECT_EQ(extents_.take_highest(0x1000, 0x2000), 0xa000u);
  EXPECT_EQ(extents_.take_highest(0x2000, 0x4000), 0x4000u);
  EXPECT_EQ(extents_.take_highest(0x10000, 0x1000), 0u);
}

TEST_F(FreeExtentsTest, KeepsWhatLiesBeforeAndBehindAnAlignedPlace) {
  extents_.insert({0x1000, 0x9000});
  EXPECT_EQ(extents_.take_lowest(0x1000, 0x4000), 0x4000u);
  EXPECT_EQ(extents_.by_address(), (Extents{{0x1000, 0x4000}, {0x5000, 0x9000}}));
  EXPECT_EQ(extents_.take_best(0x1000, 0x2000, 0x1000), 0x2000u);
}

TEST_F(FreeExtentsTest, TakesARangeOnlyIfAllOfItIsThere) {
  extents_.insert({0x1000, 0x4000});
  EXPECT_FALSE(extents_.take({0x3000, 0x5000}));
  EXPECT_FALSE(extents_.take({0x0800, 0x2000}));
  EXPECT_TRUE(extents_.take({0x2000, 0x3000}));
  EXPECT_EQ(extents_.by_address(), (Extents{{0x1000, 0x2000}, {0x3000, 0x4000}}));
}

TEST_F(FreeExtentsTest, LeavesARangeThatHasNoSlackToAlign) {
  extents_.insert({0x1000, 0x3000});
  EXPECT_EQ(extents_.take_best(0x2000, 0x2000, 0x1000), 0u);
  EXPECT_EQ(extents_.total_bytes(), 0x2000u);
}

}  // namespace
}  // namespace heaptape::allocators
