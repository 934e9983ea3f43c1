#include "replayer/heap_map/hole_ledger.h"

#include <gtest/gtest.h>

#include "tests/support/sizes.h"

namespace heaptape::replayer {
namespace {

using tests::kKiB;
using tests::kMiB;

class HoleLedgerTest : public testing::Test {
 protected:
  void add(std::initializer_list<uint64_t> sizes) {
    for (const uint64_t bytes : sizes) ledger_.note(bytes, Change::kCame);
  }
  void remove(std::initializer_list<uint64_t> sizes) {
    for (const uint64_t bytes : sizes) ledger_.note(bytes, Change::kGone);
  }
  HoleLedger ledger_{4, 32};
};

TEST_F(HoleLedgerTest, BeginsWithNothing) {
  EXPECT_EQ(ledger_.snapshot(), HoleStats{});
}

TEST_F(HoleLedgerTest, SumsSmallAndLargeHoles) {
  add({32, 32, 65520, 65536, 3 * kMiB});
  EXPECT_EQ(ledger_.snapshot().count, 5u);
  EXPECT_EQ(ledger_.snapshot().bytes, 64 + 65520 + 65536 + 3 * kMiB);
  EXPECT_EQ(ledger_.snapshot().largest, 3 * kMiB);
}

TEST_F(HoleLedgerTest, CountsAHoleOfExactlyAThresholdAsOver) {
  add({64 * kKiB - 16, 64 * kKiB, kMiB - 16, kMiB, 8 * kMiB - 16, 8 * kMiB});
  EXPECT_EQ(ledger_.snapshot().over_64_kib, 5u);
  EXPECT_EQ(ledger_.snapshot().over_1_mib, 3u);
  EXPECT_EQ(ledger_.snapshot().over_8_mib, 1u);
}

TEST_F(HoleLedgerTest, PutsEachPowerOfTwoInABucketOfItsOwn) {
  add({64, 112, 128, kMiB, kMiB + 16});
  const HoleStats stats = ledger_.snapshot();
  EXPECT_EQ(stats.histogram[6], (HoleBucket{2, 176}));
  EXPECT_EQ(stats.histogram[7], (HoleBucket{1, 128}));
  EXPECT_EQ(stats.histogram[20], (HoleBucket{2, 2 * kMiB + 16}));
}

TEST_F(HoleLedgerTest, FindsTheNextLargestWhenTheLargestGoes) {
  add({48, 70000, 2 * kMiB, 70000});
  remove({2 * kMiB});
  EXPECT_EQ(ledger_.snapshot().largest, 70000u);
  remove({70000});
  EXPECT_EQ(ledger_.snapshot().largest, 70000u);
  remove({70000});
  EXPECT_EQ(ledger_.snapshot().largest, 48u);
}

TEST_F(HoleLedgerTest, LeavesOutGapsThatNoBlockFitsInto) {
  add({0, 16, 16});
  remove({16, 16, 16});
  EXPECT_EQ(ledger_.snapshot(), HoleStats{});
}

TEST_F(HoleLedgerTest, LeavesOutLargeGapsToo) {
  HoleLedger ledger(4, kMiB);
  ledger.note(kMiB - 16, Change::kCame);
  EXPECT_EQ(ledger.snapshot(), HoleStats{});
  ledger.note(kMiB, Change::kCame);
  EXPECT_EQ(ledger.snapshot().count, 1u);
}

TEST_F(HoleLedgerTest, SplitsAHoleInTwo) {
  add({160});
  ledger_.note_split(160, 48, 80, Change::kCame);
  EXPECT_EQ(ledger_.snapshot().count, 2u);
  EXPECT_EQ(ledger_.snapshot().bytes, 128u);
  ledger_.note_split(160, 48, 80, Change::kGone);
  EXPECT_EQ(ledger_.snapshot().count, 1u);
  EXPECT_EQ(ledger_.snapshot().bytes, 160u);
}

TEST_F(HoleLedgerTest, CutsALargeHoleDownAndBack) {
  add({kMiB, 2 * kMiB});
  for (uint64_t left = kMiB; left > 16; left -= 16)
    ledger_.note_split(left, left - 16, 0, Change::kCame);
  EXPECT_EQ(ledger_.snapshot().count, 1u);
  EXPECT_EQ(ledger_.snapshot().largest, 2 * kMiB);
  for (uint64_t left = 32; left <= kMiB; left += 16)
    ledger_.note_split(left, left - 16, 0, Change::kGone);
  EXPECT_EQ(ledger_.snapshot().count, 2u);
  EXPECT_EQ(ledger_.snapshot().bytes, 3 * kMiB);
}

TEST_F(HoleLedgerTest, CountsInEightByteGranules) {
  HoleLedger ledger(3, 16);
  ledger.note(24, Change::kCame);
  ledger.note(65528, Change::kCame);
  EXPECT_EQ(ledger.snapshot().bytes, 65552u);
  EXPECT_EQ(ledger.snapshot().largest, 65528u);
}

}  // namespace
}  // namespace heaptape::replayer
