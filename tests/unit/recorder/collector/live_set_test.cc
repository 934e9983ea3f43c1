#include "recorder/collector/live_set.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace heaptape::recorder {
namespace {

uint64_t resident_bytes() {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * static_cast<uint64_t>(getpagesize());
}

TEST(LiveSet, HoldsWhatWasInsertedAndNotErased) {
  LiveSet live;
  EXPECT_FALSE(live.contains(0x5000));
  live.insert(0x5000);
  EXPECT_TRUE(live.contains(0x5000));
  EXPECT_TRUE(live.erase(0x5000));
  EXPECT_FALSE(live.contains(0x5000));
}

TEST(LiveSet, SaysWhenThereIsNothingToErase) {
  LiveSet live;
  EXPECT_FALSE(live.erase(0x5000));
  live.insert(0x5000);
  EXPECT_TRUE(live.erase(0x5000));
  EXPECT_FALSE(live.erase(0x5000));
}

// A program that frees anything at all must not fill the collector's memory.
TEST(LiveSet, TakesNoMemoryForWhatIsNotThereToErase) {
  LiveSet live;
  const uint64_t before = resident_bytes();
  for (uint64_t i = 0; i < 10'000; ++i) live.erase(i * base::kLeafSpan + 0x5000);
  EXPECT_LT(resident_bytes() - before, uint64_t{10} << 20);  // a page for each would be 40 MB
}

TEST(LiveSet, TellsNeighboursEightBytesApart) {
  LiveSet live;
  for (uint64_t address = 0x5000; address < 0x6000; address += 16) live.insert(address);
  for (uint64_t address = 0x5000; address < 0x6000; address += 8) {
    EXPECT_EQ(live.contains(address), address % 16 == 0) << address;
  }
}

TEST(LiveSet, ReachesFromEndToEndOfTheAddressSpace) {
  LiveSet live;
  for (const uint64_t address : {uint64_t{8}, base::kLeafSpan - 8, base::kLeafSpan,
                                 uint64_t{1} << 47, base::kAddressLimit - 8}) {
    live.insert(address);
    EXPECT_TRUE(live.contains(address));
    EXPECT_TRUE(live.erase(address));
  }
}

TEST(LiveSet, FindsABlockInARangeByItsStartOnly) {
  LiveSet live;
  live.insert(0x5040);
  EXPECT_TRUE(live.any_in({0x5040, 0x5048}, MappedChunks::kCount));
  EXPECT_TRUE(live.any_in({0x4000, 0x6000}, MappedChunks::kCount));
  EXPECT_FALSE(live.any_in({0x4000, 0x5040}, MappedChunks::kCount));
  EXPECT_FALSE(live.any_in({0x5048, 0x6000}, MappedChunks::kCount));
}

TEST(LiveSet, FindsABlockFarBehindTheBeginningOfARange) {
  LiveSet live;
  live.insert(3 * base::kLeafSpan + 0x5040);
  EXPECT_TRUE(live.any_in({0x1000, 4 * base::kLeafSpan}, MappedChunks::kCount));
  EXPECT_FALSE(live.any_in({0x1000, 3 * base::kLeafSpan}, MappedChunks::kCount));
  EXPECT_FALSE(
      live.any_in({3 * base::kLeafSpan + 0x6000, 5 * base::kLeafSpan}, MappedChunks::kCount));
}

TEST(LiveSet, LeavesOutBlocksThatLookLikeMappingsOfTheirOwn) {
  LiveSet live;
  live.insert(0x7000'0010);
  EXPECT_FALSE(live.any_in({0x7000'0000, 0x7001'0000}, MappedChunks::kSkip));
  EXPECT_TRUE(live.any_in({0x7000'0000, 0x7001'0000}, MappedChunks::kCount));
  live.insert(0x7000'0020);
  EXPECT_TRUE(live.any_in({0x7000'0000, 0x7001'0000}, MappedChunks::kSkip));
}

}  // namespace
}  // namespace heaptape::recorder
