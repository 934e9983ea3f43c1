#include "allocators/models/pagealign/push_order.h"

#include <gtest/gtest.h>

#include <map>

namespace heaptape::allocators::pagealign {
namespace {

// Keys by their places, as the owner of a PushOrder keeps them.
class PushOrderTest : public testing::Test {
 protected:
  void push(uint64_t key) {
    places_[key] =
        order_.push(key, [this](uint64_t moved, uint64_t place) { places_[moved] = place; });
  }
  uint64_t remove(uint64_t key) {
    const uint64_t place = places_.at(key);
    places_.erase(key);
    return order_.remove(place);
  }

  PushOrder order_;
  std::map<uint64_t, uint64_t> places_;
};

TEST_F(PushOrderTest, CountsWhatWasPushedLater) {
  for (uint64_t key = 1; key <= 5; ++key) push(key);
  EXPECT_EQ(remove(2), 3u);
  EXPECT_EQ(remove(5), 0u);
  EXPECT_EQ(remove(1), 2u);
}

TEST_F(PushOrderTest, CountsAKeyThatCameBackAsNew) {
  push(1);
  push(2);
  EXPECT_EQ(remove(1), 1u);
  push(1);
  EXPECT_EQ(remove(2), 1u);
}

TEST_F(PushOrderTest, CountsAcrossWords) {
  for (uint64_t key = 0; key < 100'000; ++key) push(key);
  EXPECT_EQ(remove(0), 99'999u);
  EXPECT_EQ(remove(64), 99'935u);
  EXPECT_EQ(remove(63), 99'935u);
}

TEST_F(PushOrderTest, TakesPlacesThatDoNotGrowWithThePushes) {
  uint64_t highest = 0;
  for (uint64_t key = 0; key < 100'000; ++key) {
    push(key);
    highest = std::max(highest, places_.at(key));
    if (key >= 10) {
      ASSERT_EQ(remove(key - 10), 10u);
    }
  }
  EXPECT_LT(highest, 1024u);
}

}  // namespace
}  // namespace heaptape::allocators::pagealign
