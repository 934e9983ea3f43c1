// model:macos-large: which blocks are large, and how they are resized.
#include <gtest/gtest.h>

#include "allocators/models/macos_large/macos_large_model.h"
#include "tests/support/model_heap.h"
#include "tests/support/sizes.h"

namespace heaptape::allocators::macos_large {
namespace {

using tests::kKiB;
using tests::kMiB;

class MacosBlocks : public testing::Test, protected tests::ModelHeap<MacosLargeModel> {
 protected:
  explicit MacosBlocks(const std::vector<std::string>& options = {}) : ModelHeap(options) {}
  static bool is_large(uint64_t address) { return address >= kWrapperBase; }
};

TEST_F(MacosBlocks, AreLargeBeyond127KiB) {
  EXPECT_FALSE(is_large(allocate(130'048)));
  const uint64_t block = allocate(130'049);
  EXPECT_TRUE(is_large(block));
  EXPECT_EQ(usable(block), 128 * kKiB);
}

TEST_F(MacosBlocks, TakeTheLowestFreeAddress) {
  EXPECT_EQ(allocate(500 * kMiB), kWrapperBase);
  EXPECT_EQ(allocate(500 * kMiB), kWrapperBase + 500 * kMiB);
  release(kWrapperBase);
  EXPECT_EQ(allocate(200 * kMiB), kWrapperBase);
}

TEST_F(MacosBlocks, AreLargeWhenTheirAlignmentAsksForIt) {
  EXPECT_FALSE(is_large(allocate(100, 64 * kKiB)));
  EXPECT_FALSE(is_large(allocate(130'048, 512)));
  const uint64_t block = allocate(100, 128 * kKiB);
  EXPECT_TRUE(is_large(block));
  EXPECT_EQ(usable(block), 128 * kKiB);
}

TEST_F(MacosBlocks, WithAnAlignmentTakeNoCachedBlockWithoutIt) {
  allocate(256 * kKiB);
  const uint64_t cached = allocate(kMiB);
  release(cached);
  EXPECT_NE(allocate(kMiB, kMiB), cached);
  EXPECT_EQ(allocate(kMiB), cached);
}

TEST_F(MacosBlocks, StayAsTheyAreWhenTheyLoseLessThanHalf) {
  const uint64_t block = allocate(4 * kMiB);
  EXPECT_EQ(reallocate(block, 2 * kMiB + 1), block);
  EXPECT_EQ(usable(block), 4 * kMiB);
}

TEST_F(MacosBlocks, GiveTheRestBackWhenTheyLoseMore) {
  const uint64_t block = allocate(4 * kMiB);
  EXPECT_EQ(reallocate(block, 2 * kMiB), block);
  EXPECT_EQ(committed_bytes(), 2 * kMiB);
  EXPECT_EQ(counter("vmDealloc"), 1u);
}

TEST_F(MacosBlocks, GrowWhereNothingIsMappedBehindThem) {
  const uint64_t block = allocate(kMiB);
  EXPECT_EQ(reallocate(block, 3 * kMiB), block);
  EXPECT_EQ(committed_bytes(), 3 * kMiB);
  EXPECT_EQ(counter("vmMap"), 2u);
}

TEST_F(MacosBlocks, MoveWhenACachedBlockLiesBehindThem) {
  const uint64_t block = allocate(kMiB);
  release(allocate(kMiB));
  EXPECT_EQ(reallocate(block, 3 * kMiB), kWrapperBase + 2 * kMiB);
  EXPECT_EQ(counter("cacheBytes"), 2 * kMiB);
}

TEST_F(MacosBlocks, StayLargeWhenTheyBecomeALittleTooSmall) {
  const uint64_t block = allocate(200 * kKiB);
  EXPECT_EQ(reallocate(block, 101 * kKiB), block);
  EXPECT_FALSE(is_large(reallocate(block, 100 * kKiB)));
  EXPECT_EQ(counter("cacheBytes"), 200 * kKiB);
}

TEST_F(MacosBlocks, MoveFromTheBaseWhenTheyBecomeLarge) {
  const uint64_t block = allocate(100);
  EXPECT_FALSE(is_large(reallocate(block, 130'048)));
  EXPECT_TRUE(is_large(reallocate(live().begin()->first, 130'049)));
  EXPECT_EQ(live().size(), 1u);
}

TEST_F(MacosBlocks, AreRefusedBeyondTheAddressSpace) {
  EXPECT_EQ(allocate(UINT64_MAX), 0u);
  EXPECT_EQ(allocate_zeroed(uint64_t{1} << 47), 0u);
  EXPECT_EQ(allocate(1, uint64_t{1} << 62), 0u);
  const uint64_t block = allocate(kMiB);
  EXPECT_EQ(reallocate(block, UINT64_MAX), 0u);
  EXPECT_EQ(committed_bytes(), kMiB);
}

class OnABumpAllocator : public MacosBlocks {
 protected:
  OnABumpAllocator() : MacosBlocks({"base=bump"}) {}
};

TEST_F(OnABumpAllocator, SmallBlocksGoToTheBase) {
  EXPECT_EQ(allocate(100), kModelBase);
  EXPECT_EQ(allocate_zeroed(100), kModelBase + 112);
}

}  // namespace
}  // namespace heaptape::allocators::macos_large
