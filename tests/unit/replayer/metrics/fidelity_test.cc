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
    compare_at(kRecordedBreak + recorded_offset, kReplayedBreak + replayed_offset);
  }
  void compare_at(uint64_t recorded, uint64_t replayed, uint64_t usable_bytes = 24) {
    fidelity_.compare(++event_, thread_, recorded, {replayed, usable_bytes});
  }

  static constexpr allocators::BackendTraits kTraits = {.initial_break = kReplayedBreak,
                                                        .arena_heap_bytes = 64 << 20};
  Fidelity fidelity_{kRecordedBreak, kTraits};
  uint64_t event_ = 0;
  uint32_t thread_ = 1;
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
  compare_at(kMapped, kMapped + 0x5000);
  EXPECT_EQ(fidelity_.compared(), 0u);
  EXPECT_EQ(fidelity_.same_share(), 0.0);
}

TEST_F(HeapFidelity, CountsABlockThatOnlyOneRunHasInItsHeap) {
  compare_at(kMapped, kReplayedBreak + 0x2a0);
  compare_at(kRecordedBreak + 0x2a0, kMapped);
  EXPECT_EQ(fidelity_.compared(), 2u);
  EXPECT_EQ(fidelity_.same_share(), 0.0);
  EXPECT_EQ(fidelity_.first_difference(), 1u);
}

TEST_F(HeapFidelity, TakesAddressesBelowTheBreakForElsewhere) {
  compare_at(kRecordedBreak - 16, kReplayedBreak - 16);
  EXPECT_EQ(fidelity_.compared(), 0u);
}

constexpr uint64_t kHeapBytes = 64 << 20;
constexpr uint64_t kRecordedHeap = 0x7f1000000000;
constexpr uint64_t kReplayedHeap = 0x7ff000000000;

TEST_F(HeapFidelity, ComparesBlocksOfAnArenaWithinItsHeap) {
  compare_at(kRecordedHeap + 0x8d0, kReplayedHeap + 0x8d0);
  compare_at(kRecordedHeap + 0x900, kReplayedHeap + 0x920);
  EXPECT_EQ(fidelity_.compared(), 2u);
  EXPECT_EQ(fidelity_.same_share(), 0.5);
}

TEST_F(HeapFidelity, WantsBlocksOfOneHeapInOneHeapAgain) {
  compare_at(kRecordedHeap + 0x8d0, kReplayedHeap + 0x8d0);
  compare_at(kRecordedHeap + 0x900, kReplayedHeap + kHeapBytes + 0x900);
  compare_at(kRecordedHeap - kHeapBytes + 0x900, kReplayedHeap + 2 * kHeapBytes + 0x900);
  EXPECT_EQ(fidelity_.compared(), 3u);
  EXPECT_EQ(fidelity_.first_difference(), 2u);
  EXPECT_NEAR(fidelity_.same_share(), 2.0 / 3, 1e-9);
}

TEST_F(HeapFidelity, LeavesOutLargeBlocksThatMayHaveMappings) {
  compare_at(kRecordedHeap + 0x8d0, kReplayedHeap + 0x990, 100'000);
  compare_at(kRecordedHeap + 0x8000, kReplayedHeap + 0x10000);  // aligned
  EXPECT_EQ(fidelity_.compared(), 0u);
}

TEST_F(HeapFidelity, TakesWhatTheFirstThreadHasElsewhereForMappings) {
  thread_ = 0;
  compare_at(kRecordedHeap + 0x8d0, kReplayedHeap + 0x990);
  EXPECT_EQ(fidelity_.compared(), 0u);
}

TEST(Fidelity, ComparesNothingOutsideTheHeapWhereThereAreNoArenas) {
  Fidelity fidelity(kRecordedBreak, {.initial_break = kReplayedBreak});
  fidelity.compare(1, 1, kRecordedHeap + 0x8d0, {kReplayedHeap + 0x990, 24});
  EXPECT_EQ(fidelity.compared(), 0u);
}

TEST(Fidelity, ComparesNothingWhereOneSideHasNoHeap) {
  Fidelity unknown(0, {.initial_break = kReplayedBreak});
  unknown.compare(1, 1, 0x2a0, {kReplayedBreak + 0x2a0, 24});
  EXPECT_EQ(unknown.compared(), 0u);
  Fidelity model(kRecordedBreak, {});
  model.compare(1, 1, kRecordedBreak + 0x2a0, {0x2a0, 24});
  EXPECT_EQ(model.compared(), 0u);
}

}  // namespace
}  // namespace heaptape::replayer
