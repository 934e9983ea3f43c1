#include "base/address/overlap.h"

#include <gtest/gtest.h>

namespace heaptape::base {
namespace {

constexpr AddressRange kParts[] = {{10, 20}, {30, 40}, {50, 60}};

TEST(Overlap, CountsWhatLiesInTheParts) {
  Overlap overlap(kParts);
  EXPECT_EQ(overlap.bytes({0, 10}), 0u);
  EXPECT_EQ(overlap.bytes({15, 35}), 10u);
  EXPECT_EQ(overlap.bytes({35, 100}), 15u);
}

TEST(Overlap, TakesRangesThatLieInOneAnother) {
  Overlap overlap(kParts);
  EXPECT_EQ(overlap.bytes({0, 100}), 30u);
  EXPECT_EQ(overlap.bytes({12, 14}), 2u);
  EXPECT_EQ(overlap.bytes({12, 32}), 10u);
}

TEST(Overlap, FindsNothingInNoParts) {
  EXPECT_EQ(Overlap({}).bytes({0, 100}), 0u);
}

}  // namespace
}  // namespace heaptape::base
