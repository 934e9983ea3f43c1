#include "base/address/leaf_bits.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/support/seeded_random.h"

namespace heaptape::base {
namespace {

class LeafBitsTest : public testing::Test {
 protected:
  static constexpr uint64_t kLast = LeafBits::kLimit - 1;
  std::unique_ptr<LeafBits> bits_ = std::make_unique<LeafBits>();
};

TEST_F(LeafBitsTest, FindsNothingWhenEmpty) {
  EXPECT_EQ(bits_->find_from(0), LeafBits::kNone);
  EXPECT_EQ(bits_->find_from(kLast), LeafBits::kNone);
  EXPECT_EQ(bits_->find_before(0), LeafBits::kNone);
  EXPECT_EQ(bits_->find_before(kLast), LeafBits::kNone);
}

TEST_F(LeafBitsTest, TellsTheFirstInAndTheLastOut) {
  EXPECT_TRUE(bits_->insert(5000));
  EXPECT_FALSE(bits_->insert(5000));
  EXPECT_FALSE(bits_->insert(kLast));
  EXPECT_FALSE(bits_->erase(5000));
  EXPECT_TRUE(bits_->erase(kLast));
}

TEST_F(LeafBitsTest, FindFromIncludesWhereItBegins) {
  bits_->insert(100);
  EXPECT_EQ(bits_->find_from(100), 100u);
  EXPECT_EQ(bits_->find_from(101), LeafBits::kNone);
}

TEST_F(LeafBitsTest, FindBeforeLeavesOutWhereItBegins) {
  bits_->insert(100);
  EXPECT_EQ(bits_->find_before(101), 100u);
  EXPECT_EQ(bits_->find_before(100), LeafBits::kNone);
}

TEST_F(LeafBitsTest, FindsAnyDistanceForward) {
  for (const uint64_t distance : {1u, 63u, 64u, 65u, 4095u, 4096u, 300000u, 15000000u}) {
    for (const uint64_t from : {0u, 1u, 63u, 64u, 4095u, 262143u}) {
      bits_->insert(from + distance);
      EXPECT_EQ(bits_->find_from(from), from + distance);
      bits_->erase(from + distance);
    }
  }
}

TEST_F(LeafBitsTest, FindsAnyDistanceBackward) {
  for (const uint64_t distance : {1u, 63u, 64u, 65u, 4095u, 4096u, 300000u, 15000000u}) {
    for (const uint64_t bit : {0u, 1u, 63u, 64u, 4095u, 262143u}) {
      bits_->insert(bit);
      EXPECT_EQ(bits_->find_before(bit + distance), bit);
      bits_->erase(bit);
    }
  }
}

TEST_F(LeafBitsTest, StopsAtTheNearest) {
  for (const uint64_t bit : {0ul, 10ul, 70ul, 5000ul, 400000ul, kLast}) bits_->insert(bit);
  EXPECT_EQ(bits_->find_from(71), 5000u);
  EXPECT_EQ(bits_->find_from(5001), 400000u);
  EXPECT_EQ(bits_->find_before(kLast), 400000u);
  EXPECT_EQ(bits_->find_before(70), 10u);
  EXPECT_EQ(bits_->first(), 0u);
  EXPECT_EQ(bits_->last(), kLast);
}

TEST_F(LeafBitsTest, FindsNoLoneOddNumberWhereThereIsNone) {
  EXPECT_EQ(bits_->find_lone_odd(0, LeafBits::kLimit), LeafBits::kNone);
  for (const uint64_t even : {uint64_t{0}, uint64_t{62}, uint64_t{64}, kLast - 1}) {
    bits_->insert(even);
  }
  bits_->insert(63);  // 64 follows, in the next word
  EXPECT_EQ(bits_->find_lone_odd(0, LeafBits::kLimit), LeafBits::kNone);
  EXPECT_EQ(bits_->find_lone_odd(kLast, LeafBits::kLimit), LeafBits::kNone);
}

TEST_F(LeafBitsTest, FindsLoneOddNumbersFarAndNear) {
  for (const uint64_t number :
       {uint64_t{1}, uint64_t{63}, uint64_t{127}, uint64_t{300001}, kLast}) {
    bits_->insert(number);
  }
  EXPECT_EQ(bits_->find_lone_odd(0, LeafBits::kLimit), 1u);
  EXPECT_EQ(bits_->find_lone_odd(1, LeafBits::kLimit), 1u);
  EXPECT_EQ(bits_->find_lone_odd(2, LeafBits::kLimit), 63u);
  EXPECT_EQ(bits_->find_lone_odd(64, LeafBits::kLimit), 127u);
  EXPECT_EQ(bits_->find_lone_odd(128, LeafBits::kLimit), 300001u);
  EXPECT_EQ(bits_->find_lone_odd(300002, LeafBits::kLimit), kLast);
}

// Against the definition.
TEST_F(LeafBitsTest, FindsTheLoneOddNumbersOfAnySet) {
  tests::SeededRandom random;
  for (const uint64_t spread : {uint64_t{200}, uint64_t{3000}, uint64_t{60'000}}) {
    std::vector<bool> is_there(spread + 1);
    for (uint64_t i = 0; i < spread; ++i) {
      if (random.below(3) == 0) continue;
      bits_->insert(i);
      is_there[i] = true;
    }
    for (uint64_t from = 0; from < spread; from += 1 + random.below(20)) {
      uint64_t expected = from | 1;
      while (expected < spread && !(is_there[expected] && !is_there[expected + 1])) expected += 2;
      const uint64_t found = expected < spread ? expected : LeafBits::kNone;
      ASSERT_EQ(bits_->find_lone_odd(from, LeafBits::kLimit), found) << from;
      ASSERT_EQ(bits_->find_lone_odd(from, expected), LeafBits::kNone) << from;
      ASSERT_EQ(bits_->find_lone_odd(from, expected + 1), found) << from;
    }
    bits_ = std::make_unique<LeafBits>();
  }
}

TEST_F(LeafBitsTest, ForgetsWhatIsErased) {
  bits_->insert(9000);
  bits_->insert(9001);
  bits_->erase(9000);
  EXPECT_FALSE(bits_->contains(9000));
  EXPECT_TRUE(bits_->contains(9001));
  EXPECT_EQ(bits_->find_from(0), 9001u);
}

TEST_F(LeafBitsTest, ScansInOrder) {
  const std::vector<uint64_t> all = {0, 63, 64, 100000, kLast};
  for (const uint64_t bit : all) bits_->insert(bit);
  std::vector<uint64_t> seen;
  bits_->scan(LeafBits::kLimit, [&seen](uint64_t bit) { seen.push_back(bit); });
  EXPECT_EQ(seen, all);
}

}  // namespace
}  // namespace heaptape::base
