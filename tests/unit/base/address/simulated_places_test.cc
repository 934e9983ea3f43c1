#include "base/address/simulated_places.h"

#include <gtest/gtest.h>

#include "base/address/address_range.h"
#include "tests/support/tapes.h"

namespace heaptape::base {
namespace {

TEST(SimulatedPlaces, AFreedPlaceIsUsedAgainForItsSize) {
  SimulatedPlaces places;
  const auto first = places.take(100, 16);
  places.give_back(*first, 100);
  EXPECT_EQ(places.take(101, 16), first);
}

TEST(SimulatedPlaces, ABlockThatHasTheRoomIsResizedInPlace) {
  SimulatedPlaces places;
  const auto block = places.take(100, 16);
  EXPECT_EQ(places.resize(*block, 100, 101), block);
  EXPECT_NE(places.resize(*block, 101, 1000), block);
  EXPECT_EQ(places.take(101, 16), block);
}

TEST(SimulatedPlaces, ThereIsNoneAboveTheAddressesOfATape) {
  SimulatedPlaces places;
  EXPECT_FALSE(places.take(kAddressLimit, 16));
  EXPECT_FALSE(places.take(UINT64_MAX, 16));
  EXPECT_FALSE(places.take(1, uint64_t{1} << 60));
  EXPECT_FALSE(places.resize(*places.take(1, 16), 1, UINT64_MAX));
  EXPECT_TRUE(places.take(1, 16));
}

TEST(SimulatedPlaces, LiveBlocksNeverOverlap) {
  tests::Random random(tests::test_seed());
  SimulatedPlaces places;
  std::map<uint64_t, uint64_t> live;  // by address, sizes
  for (int i = 0; i < 20'000; ++i) {
    if (!live.empty() && random.chance(2)) {
      const auto block = std::next(
          live.begin(), static_cast<ptrdiff_t>(random.below(std::min<size_t>(live.size(), 20))));
      places.give_back(block->first, block->second);
      live.erase(block);
      continue;
    }
    const uint64_t size = random.below(random.chance(10) ? 100'000 : 200);
    const auto address = places.take(size, uint64_t{1} << (4 + random.below(8)));
    const auto behind = live.lower_bound(*address);
    ASSERT_TRUE(behind == live.end() || *address + size <= behind->first);
    ASSERT_TRUE(behind == live.begin() ||
                std::prev(behind)->first + std::prev(behind)->second <= *address);
    live[*address] = size;
  }
}

}  // namespace
}  // namespace heaptape::base
