#include "base/address/leaf_bits.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

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
