#include "recorder/collector/fair_share.h"

#include <gtest/gtest.h>

namespace heaptape::recorder {
namespace {

TEST(FairShare, IsEqualAmongThoseWhoWantMore) {
  EXPECT_EQ(fair_share({500, 500, 500}, 300), 100u);
  EXPECT_EQ(fair_share({90, 5, 90, 5}, 100), 45u);
  EXPECT_EQ(fair_share({100, 10, 30}, 100), 60u);
}

TEST(FairShare, IsTheRestIfAllHaveLittle) {
  EXPECT_EQ(fair_share({}, 100), 100u);
  EXPECT_EQ(fair_share({0}, 100), 100u);
  EXPECT_EQ(fair_share({7}, 100), 100u);
  EXPECT_EQ(fair_share({1, 2, 3}, 100), 97u);
}

// What each is given if it takes what it may is never more than there is.
TEST(FairShare, IsNeverMoreThanThereIs) {
  for (uint64_t a = 0; a < 40; a += 3) {
    for (uint64_t b = 0; b < 40; b += 5) {
      for (uint64_t c = 0; c < 40; c += 7) {
        const uint64_t share = fair_share({a, b, c}, 60);
        EXPECT_LE(std::min(a, share) + std::min(b, share) + std::min(c, share), 60u);
        EXPECT_GE(share, 20u);
      }
    }
  }
}

}  // namespace
}  // namespace heaptape::recorder
