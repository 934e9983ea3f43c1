#include "replayer/answers/heap_growths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace heaptape::replayer {
namespace {

HeapGrowth growth_by(uint64_t bytes, uint64_t event) {
  return {.event = event, .growth_bytes = bytes};
}

TEST(HeapGrowths, KeepsTheLargestInTheirOrder) {
  HeapGrowths growths(2);
  growths.add(growth_by(10, 1));
  growths.add(growth_by(30, 2));
  growths.add(growth_by(20, 3));
  ASSERT_EQ(growths.list().size(), 2u);
  EXPECT_EQ(growths.list()[0].event, 2u);
  EXPECT_EQ(growths.list()[1].event, 3u);
}

TEST(HeapGrowths, OfThoseAsLargeKeepsTheEarlier) {
  HeapGrowths growths(1);
  growths.add(growth_by(10, 1));
  EXPECT_FALSE(growths.is_kept(10));
  EXPECT_TRUE(growths.is_kept(11));
}

// Every run of six growths by 0 to 2 bytes, in lists of up to four.
TEST(HeapGrowths, AreThoseOfAStableSort) {
  for (uint64_t number = 0; number < 729; ++number) {
    for (const size_t most : {0u, 1u, 2u, 3u, 4u}) {
      HeapGrowths growths(most);
      std::vector<HeapGrowth> all;
      uint64_t rest = number;
      for (uint64_t event = 1; event <= 6; ++event, rest /= 3) {
        if (rest % 3 != 0) all.push_back(growth_by(rest % 3, event));
        if (growths.is_kept(rest % 3)) growths.add(growth_by(rest % 3, event));
      }
      std::ranges::stable_sort(all, std::greater(), &HeapGrowth::growth_bytes);
      all.resize(std::min(all.size(), most));
      ASSERT_EQ(growths.list().size(), all.size());
      for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(growths.list()[i].event, all[i].event);
    }
  }
}

TEST(HeapGrowths, KeepsNothingThatIsNone) {
  EXPECT_FALSE(HeapGrowths(5).is_kept(0));
  EXPECT_FALSE(HeapGrowths(0).is_kept(10));
}

TEST(HeapGrowths, AreGivenBackWhenTheLastOfThemIs) {
  HeapGrowths growths(1);
  HeapGrowth growth = growth_by(0x3000, 1);
  growth.ranges = {{0x1000, 0x4000}};
  growths.add(growth);
  growths.note_given_back({0x2000, 0x3000}, 5);
  growths.note_given_back({0x3000, 0x9000}, 6);
  EXPECT_EQ(growths.list()[0].given_back_at, 0u);
  growths.note_given_back({0x0000, 0x2000}, 7);
  EXPECT_EQ(growths.list()[0].given_back_at, 7u);
}

TEST(HeapGrowths, SayHowManyBytesTheLargestHoleWasShort) {
  HeapGrowth growth{.request_bytes = 100, .largest_hole_bytes = 61};
  EXPECT_EQ(growth.short_bytes(), 39u);
  growth.largest_hole_bytes = 200;
  EXPECT_EQ(growth.short_bytes(), 0u);
}

}  // namespace
}  // namespace heaptape::replayer
