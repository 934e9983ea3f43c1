// Memory that was there before the first recorded call.
#include "replayer/heap_map/unseen_memory.h"

#include <gtest/gtest.h>

namespace heaptape::replayer {
namespace {

using Ranges = std::vector<AddressRange>;

constexpr uint64_t kLateHeap = 0x10000;

class Unseen : public testing::Test {
 protected:
  Unseen() {
    map_.commit({kLateHeap, kLateHeap + 0x4000});
    unseen_.add({kLateHeap, kLateHeap + 0x2000});
  }
  void place(uint64_t address, uint64_t usable_bytes) {
    unseen_.hand_out(address, usable_bytes);
    EXPECT_TRUE(map_.place(address, usable_bytes));
  }

  HeapMap map_{4, 32};
  UnseenMemory unseen_{map_, 32};
};

TEST_F(Unseen, IsNeitherAHoleNorATop) {
  EXPECT_EQ(unseen_.bytes(), 0x2000u);
  EXPECT_EQ(map_.holes().bytes, 0u);
  EXPECT_EQ(map_.holes().top_bytes, 0x2000u);
}

TEST_F(Unseen, IsSeenOnceItWasHandedOut) {
  place(kLateHeap + 0x1000, 0x100);
  EXPECT_EQ(unseen_.ranges(),
            (Ranges{{kLateHeap, kLateHeap + 0x1000}, {kLateHeap + 0x1100, kLateHeap + 0x2000}}));
  EXPECT_EQ(map_.holes().bytes, 0u);
}

TEST_F(Unseen, IsAHoleOnceItWasHandedOutAndGivenBack) {
  place(kLateHeap + 0x1000, 0x100);
  map_.remove(kLateHeap + 0x1000, 0x100);
  EXPECT_EQ(map_.scan_holes(), (Ranges{{kLateHeap + 0x1000, kLateHeap + 0x1100}}));
  EXPECT_EQ(unseen_.bytes(), 0x1f00u);
}

TEST_F(Unseen, IsSeenWhereABlockGrowsIntoIt) {
  place(kLateHeap + 0x1000, 0x100);
  unseen_.hand_out(kLateHeap + 0x1000, 0x200);
  EXPECT_TRUE(map_.resize(kLateHeap + 0x1000, 0x100, 0x200));
  EXPECT_EQ(unseen_.bytes(), 0x1e00u);
}

TEST_F(Unseen, LeavesNothingBesideABlockThatIsTooSmallForAnother) {
  place(kLateHeap + 0x10, 0x1fe0);
  EXPECT_EQ(unseen_.bytes(), 0u);
}

TEST_F(Unseen, IsNotWhereBlocksAre) {
  place(kLateHeap + 0x3000, 0x100);
  unseen_.add({kLateHeap + 0x2000, kLateHeap + 0x4000});
  EXPECT_EQ(unseen_.ranges(),
            (Ranges{{kLateHeap, kLateHeap + 0x3000}, {kLateHeap + 0x3100, kLateHeap + 0x4000}}));
}

TEST_F(Unseen, GoesWithItsMemory) {
  unseen_.give_back({kLateHeap, kLateHeap + 0x1000});
  map_.decommit({kLateHeap, kLateHeap + 0x1000});
  EXPECT_EQ(unseen_.ranges(), (Ranges{{kLateHeap + 0x1000, kLateHeap + 0x2000}}));
}

TEST_F(Unseen, EndsAHoleOnOneSideOrBoth) {
  const Ranges ranges = unseen_.ranges();
  EXPECT_TRUE(unseen_sides(ranges, {kLateHeap + 0x2000, kLateHeap + 0x2100}).before);
  EXPECT_FALSE(unseen_sides(ranges, {kLateHeap + 0x2000, kLateHeap + 0x2100}).after);
  EXPECT_TRUE(unseen_sides(ranges, {kLateHeap - 0x100, kLateHeap}).after);
  EXPECT_FALSE(unseen_sides(ranges, {kLateHeap + 0x2010, kLateHeap + 0x2100}).any());
  EXPECT_TRUE(unseen_.is_beside({kLateHeap + 0x2000, kLateHeap + 0x2100}));
  EXPECT_FALSE(unseen_.is_beside({kLateHeap + 0x2010, kLateHeap + 0x2100}));
}

}  // namespace
}  // namespace heaptape::replayer
