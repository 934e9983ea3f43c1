#include "recorder/collector/live_sizes.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "tests/support/seeded_random.h"

namespace heaptape::recorder {
namespace {

using tests::free_event;
using tests::malloc_event;
using tests::realloc_event;

LiveTotals total(const LiveSizes& sizes) {
  LiveTotals sum;
  for (const LiveTotals& band : sizes.bands()) {
    sum.bytes += band.bytes;
    sum.blocks += band.blocks;
  }
  return sum;
}

TEST(LiveSizes, BandsMeetWithoutAGap) {
  EXPECT_EQ(size_band(0), 0u);
  for (size_t band = 0; band < kSizeBands; ++band) {
    EXPECT_EQ(size_band(band_first(band)), band);
    EXPECT_EQ(size_band(band_last(band)), band);
    if (band + 1 == kSizeBands) break;
    EXPECT_EQ(band_last(band) + 1, band_first(band + 1));
  }
}

TEST(LiveSizes, CountABlockWhileItIsLive) {
  LiveSizes sizes;
  sizes.add(malloc_event(100, 0x1000));
  EXPECT_EQ(sizes.bands()[size_band(100)], (LiveTotals{100, 1}));
  sizes.add(free_event(0x1000));
  EXPECT_EQ(total(sizes), LiveTotals{});
}

TEST(LiveSizes, FollowAResizeInPlaceAndAMove) {
  LiveSizes sizes;
  sizes.add(malloc_event(100, 0x1000));
  sizes.add(realloc_event(0x1000, 200, 0x1000));
  EXPECT_EQ(total(sizes), (LiveTotals{200, 1}));
  sizes.add(realloc_event(0x1000, 300, 0x2000));
  EXPECT_EQ(total(sizes), (LiveTotals{300, 1}));
}

TEST(LiveSizes, KeepTheOldBlockOfAResizeThatFailed) {
  LiveSizes sizes;
  sizes.add(malloc_event(100, 0x1000));
  sizes.add(realloc_event(0x1000, 1 << 30, 0));
  EXPECT_EQ(total(sizes), (LiveTotals{100, 1}));
  sizes.add(realloc_event(0x1000, 0, 0));  // frees
  EXPECT_EQ(total(sizes), LiveTotals{});
}

// They are kept in three ways.
TEST(LiveSizes, KnowSizesOnBothSidesOfEachLimit) {
  LiveSizes sizes;
  const std::vector<uint64_t> each = {0, 1, 252, 253, 254, (1 << 27) - 2, (1 << 27) - 1, 1 << 27};
  LiveTotals sum;
  for (const uint64_t size : each) {
    sizes.add(malloc_event(size, (size + 1) << 20));
    sum = {sum.bytes + size, sum.blocks + 1};
  }
  EXPECT_EQ(total(sizes), sum);
  for (const uint64_t size : each) sizes.add(free_event((size + 1) << 20));
  EXPECT_EQ(total(sizes), LiveTotals{});
}

TEST(LiveSizes, TellBlocksApartThatLieCloseTogether) {
  LiveSizes sizes;
  sizes.add(malloc_event(8, 0x1000));
  sizes.add(malloc_event(8, 0x1008));
  sizes.add(malloc_event(300, 0x1010));
  sizes.add(free_event(0x1008));
  EXPECT_EQ(total(sizes), (LiveTotals{308, 2}));
  sizes.add(free_event(0x1010));
  EXPECT_EQ(total(sizes), (LiveTotals{8, 1}));
}

TEST(LiveSizes, CountNoFreeOfABlockThatNobodySaw) {
  LiveSizes sizes;
  sizes.add(free_event(0x1000));
  sizes.add(free_event(0));
  EXPECT_EQ(total(sizes), LiveTotals{});
}

TEST(LiveSizes, ForgetABlockWhoseFreeWasLostWhenItsAddressComesAgain) {
  LiveSizes sizes;
  sizes.add(malloc_event(100, 0x1000));
  sizes.add(malloc_event(70000, 0x1000));
  EXPECT_EQ(total(sizes), (LiveTotals{70000, 1}));
  sizes.add(malloc_event(300, 0x1008));  // a block of 70,000 bytes no longer exists
  EXPECT_EQ(total(sizes), (LiveTotals{300, 1}));
}

TEST(LiveSizes, AgreeWithAMapOnRandomCalls) {
  tests::SeededRandom random;
  LiveSizes sizes;
  std::map<uint64_t, uint64_t> blocks;
  for (const schema::Event& event : tests::plausible_events(random, 100'000, 8)) {
    sizes.add(event);
    if (schema::is_failed(event)) continue;
    blocks.erase(event.freed_address);
    if (event.address != 0) blocks[event.address] = event.size;
  }
  LiveTotals sum;
  for (const auto& [address, size] : blocks) sum = {sum.bytes + size, sum.blocks + 1};
  EXPECT_EQ(total(sizes), sum);
}

}  // namespace
}  // namespace heaptape::recorder
