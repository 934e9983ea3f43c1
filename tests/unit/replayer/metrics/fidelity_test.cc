#include "replayer/metrics/fidelity.h"

#include <gtest/gtest.h>

namespace heaptape::replayer {
namespace {

constexpr uint64_t kRecordedBreak = 0x55aa00000000;
constexpr uint64_t kReplayedBreak = 0x555555559000;
constexpr uint64_t kMapped = 0x7ffff7000010;

class HeapFidelity : public testing::Test {
 protected:
  void compare(uint64_t recorded_offset, uint64_t replayed_offset) {
    fidelity_.compare(++event_, kRecordedBreak + recorded_offset, kReplayedBreak + replayed_offset);
  }

  Fidelity fidelity_{kRecordedBreak, kReplayedBreak};
  uint64_t event_ = 0;
};

TEST_F(HeapFidelity, ComparesOffsetsFromEachBreak) {
  compare(0x2a0, 0x2a0);
  compare(0x10000, 0x10000);
  EXPECT_EQ(fidelity_.same_share(), 1.0);
  EXPECT_EQ(fidelity_.compared(), 2u);
  EXPECT_EQ(fidelity_.first_difference(), 0u);
}

TEST_F(HeapFidelity, NamesTheFirstEventThatDiffers) {
  compare(0x2a0, 0x2a0);
  compare(0x2c0, 0x2d0);
  compare(0x2e0, 0x2f0);
  compare(0x300, 0x300);
  EXPECT_EQ(fidelity_.same_share(), 0.5);
  EXPECT_EQ(fidelity_.first_difference(), 2u);
}

TEST_F(HeapFidelity, LeavesBlocksOutThatBothRunsHaveElsewhere) {
  fidelity_.compare(1, kMapped, kMapped + 0x5000);
  EXPECT_EQ(fidelity_.compared(), 0u);
  EXPECT_EQ(fidelity_.same_share(), 0.0);
}

TEST_F(HeapFidelity, CountsABlockThatOnlyOneRunHasInItsHeap) {
  fidelity_.compare(1, kMapped, kReplayedBreak + 0x2a0);
  fidelity_.compare(2, kRecordedBreak + 0x2a0, kMapped);
  EXPECT_EQ(fidelity_.compared(), 2u);
  EXPECT_EQ(fidelity_.same_share(), 0.0);
  EXPECT_EQ(fidelity_.first_difference(), 1u);
}

TEST_F(HeapFidelity, TakesAddressesBelowTheBreakForElsewhere) {
  fidelity_.compare(1, kRecordedBreak - 16, kReplayedBreak - 16);
  EXPECT_EQ(fidelity_.compared(), 0u);
}

TEST(Fidelity, ComparesNothingWhereOneSideHasNoHeap) {
  Fidelity unknown(0, kReplayedBreak);
  unknown.compare(1, 0x2a0, kReplayedBreak + 0x2a0);
  EXPECT_EQ(unknown.compared(), 0u);
  Fidelity model(kRecordedBreak, 0);
  model.compare(1, kRecordedBreak + 0x2a0, 0x2a0);
  EXPECT_EQ(model.compared(), 0u);
}

}  // namespace
}  // namespace heaptape::replayer
