#include "recorder/collector/live_set.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <random>
#include <set>

namespace heaptape::recorder {
namespace {

uint64_t resident_bytes() {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * static_cast<uint64_t>(getpagesize());
}

// A set holds its first addresses otherwise than the many. Each test has both: one set with nothing
// else in it, and one with others, far away.
class LiveSetTest : public testing::TestWithParam<size_t> {
 protected:
  LiveSetTest() {
    for (size_t i = 0; i < GetParam(); ++i) live.insert(kOthers + i * 8);
  }
  static constexpr uint64_t kOthers = uint64_t{1} << 50;
  LiveSet live;
};

TEST_P(LiveSetTest, HoldsWhatWasInsertedAndNotErased) {
  EXPECT_FALSE(live.contains(0x5000));
  live.insert(0x5000);
  EXPECT_TRUE(live.contains(0x5000));
  EXPECT_TRUE(live.erase(0x5000));
  EXPECT_FALSE(live.contains(0x5000));
}

TEST_P(LiveSetTest, SaysWhenItIsThereAlready) {
  EXPECT_TRUE(live.insert(0x5000));
  EXPECT_FALSE(live.insert(0x5000));
  EXPECT_TRUE(live.contains(0x5000));
  EXPECT_TRUE(live.set(0x5000, false));
  EXPECT_FALSE(live.set(0x5000, false));
}

TEST_P(LiveSetTest, SaysWhenThereIsNothingToErase) {
  EXPECT_FALSE(live.erase(0x5000));
  live.insert(0x5000);
  EXPECT_TRUE(live.erase(0x5000));
  EXPECT_FALSE(live.erase(0x5000));
}

// A program that frees anything at all must not fill the collector's memory.
TEST_P(LiveSetTest, TakesNoMemoryForWhatIsNotThereToErase) {
  const uint64_t before = resident_bytes();
  for (uint64_t i = 0; i < 10'000; ++i) live.erase(i * base::kLeafSpan + 0x5000);
  EXPECT_LT(resident_bytes() - before, uint64_t{10} << 20);  // a page for each would be 40 MB
}

TEST_P(LiveSetTest, TellsNeighboursEightBytesApart) {
  for (uint64_t address = 0x5000; address < 0x6000; address += 16) live.insert(address);
  for (uint64_t address = 0x5000; address < 0x6000; address += 8) {
    EXPECT_EQ(live.contains(address), address % 16 == 0) << address;
  }
}

TEST_P(LiveSetTest, ReachesFromEndToEndOfTheAddressSpace) {
  for (const uint64_t address : {uint64_t{8}, base::kLeafSpan - 8, base::kLeafSpan,
                                 uint64_t{1} << 47, base::kAddressLimit - 8}) {
    live.insert(address);
    EXPECT_TRUE(live.contains(address));
    EXPECT_TRUE(live.erase(address));
  }
}

TEST_P(LiveSetTest, FindsABlockInARangeByItsStartOnly) {
  live.insert(0x5040);
  EXPECT_TRUE(live.any_in({0x5040, 0x5048}, MappedChunks::kCount));
  EXPECT_TRUE(live.any_in({0x4000, 0x6000}, MappedChunks::kCount));
  EXPECT_FALSE(live.any_in({0x4000, 0x5040}, MappedChunks::kCount));
  EXPECT_FALSE(live.any_in({0x5048, 0x6000}, MappedChunks::kCount));
}

TEST_P(LiveSetTest, FindsABlockFarBehindTheBeginningOfARange) {
  live.insert(3 * base::kLeafSpan + 0x5040);
  EXPECT_TRUE(live.any_in({0x1000, 4 * base::kLeafSpan}, MappedChunks::kCount));
  EXPECT_FALSE(live.any_in({0x1000, 3 * base::kLeafSpan}, MappedChunks::kCount));
  EXPECT_FALSE(
      live.any_in({3 * base::kLeafSpan + 0x6000, 5 * base::kLeafSpan}, MappedChunks::kCount));
}

TEST_P(LiveSetTest, LeavesOutBlocksThatLookLikeMappingsOfTheirOwn) {
  live.insert(0x7000'0010);
  EXPECT_FALSE(live.any_in({0x7000'0000, 0x7001'0000}, MappedChunks::kSkip));
  EXPECT_TRUE(live.any_in({0x7000'0000, 0x7001'0000}, MappedChunks::kCount));
  live.insert(0x7000'0020);
  EXPECT_TRUE(live.any_in({0x7000'0000, 0x7001'0000}, MappedChunks::kSkip));
}

TEST_P(LiveSetTest, TakesAnAddressOnce) {
  for (int i = 0; i < 100; ++i) live.insert(0x5000 + i % 8);  // the same 8 bytes
  EXPECT_TRUE(live.erase(0x5004));
  EXPECT_FALSE(live.contains(0x5000));
  EXPECT_FALSE(live.erase(0x5000));
}

INSTANTIATE_TEST_SUITE_P(OfAFewAndMany, LiveSetTest,
                         testing::Values(0, LiveSet::kFew - 1, LiveSet::kFew + 1));

TEST(LiveSet, KeepsItsFewWhenTheyBecomeMany) {
  LiveSet live;
  for (size_t count = 1; count <= 3 * LiveSet::kFew; ++count) {
    live.insert(count * 0x1008);
    for (size_t i = 1; i <= count; ++i) ASSERT_TRUE(live.contains(i * 0x1008)) << i;
    ASSERT_FALSE(live.contains((count + 1) * 0x1008));
    ASSERT_TRUE(live.any_in({count * 0x1008, count * 0x1008 + 8}, MappedChunks::kCount));
  }
  for (size_t i = 1; i <= 3 * LiveSet::kFew; ++i) ASSERT_TRUE(live.erase(i * 0x1008)) << i;
  EXPECT_FALSE(live.any_in({0, base::kAddressLimit}, MappedChunks::kCount));
}

TEST(LiveSet, AnswersAsASetOfAddressesWould) {
  std::mt19937_64 random(8);
  LiveSet live;
  std::set<uint64_t> expected;
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t address = 0x10'0000 + random() % (2 * LiveSet::kFew) * 8;
    if (random() % 3 == 0) {
      live.insert(address);
      expected.insert(address);
    } else {
      ASSERT_EQ(live.erase(address), expected.erase(address) == 1);
    }
    ASSERT_EQ(live.contains(address), expected.contains(address));
    const auto first = expected.lower_bound(address);
    ASSERT_EQ(live.any_in({address, address + 64}, MappedChunks::kCount),
              first != expected.end() && *first < address + 64);
  }
}

}  // namespace
}  // namespace heaptape::recorder
