// model:runs, blocks of whole pages inside a chunk: best fit, resizing, purging.
#include <gtest/gtest.h>

#include "tests/support/model_heap.h"
#include "tests/unit/allocators/models/runs/runs_layout.h"

namespace heaptape::allocators::runs {
namespace {

class RunsModelLarge : public testing::Test, protected tests::ModelHeap<RunsModel> {
 protected:
  uint64_t pages(uint64_t count) { return allocate(count * kRunPageBytes); }
  // With a page behind it that stays in use: what is freed neither joins the rest of the chunk nor
  // empties it.
  uint64_t pinned(uint64_t count) {
    const uint64_t block = pages(count);
    pages(1);
    return block;
  }
  uint64_t resize(uint64_t block, uint64_t count) {
    return reallocate(block, count * kRunPageBytes);
  }
  uint64_t absent_pages(uint64_t block, uint64_t count) const {
    return absent_bytes(block, count * kRunPageBytes) / kRunPageBytes;
  }
};

TEST_F(RunsModelLarge, TakesWholePages) {
  const uint64_t block = allocate(10000);
  EXPECT_EQ(block, kFirstRun);
  EXPECT_EQ(usable(block), 12288u);
  EXPECT_EQ(usable(allocate(kLargeMaxBytes)), kLargeMaxBytes);
}

TEST_F(RunsModelLarge, TakesTheSmallestRunThatFits) {
  const uint64_t three = pinned(3);
  const uint64_t two = pinned(2);
  release(three);
  release(two);
  EXPECT_EQ(pages(2), two);
  EXPECT_EQ(pages(2), three);
}

TEST_F(RunsModelLarge, TakesTheLowestOfRunsThatFitEquallyWell) {
  const uint64_t low = pinned(2);
  const uint64_t high = pinned(2);
  release(high);
  release(low);
  EXPECT_EQ(pages(1), low);
}

TEST_F(RunsModelLarge, JoinsFreeRunsOnBothSides) {
  const auto blocks = allocate_many(4, kRunPageBytes);
  release(blocks[0]);
  release(blocks[2]);
  release(blocks[1]);
  EXPECT_EQ(pages(3), blocks[0]);
}

TEST_F(RunsModelLarge, ShrinksInPlaceAndFreesTheTail) {
  const uint64_t block = pages(10);
  EXPECT_EQ(resize(block, 4), block);
  EXPECT_EQ(usable(block), 4 * kRunPageBytes);
  EXPECT_EQ(counter("dirtyPages"), 6u);
  EXPECT_EQ(pages(6), block + 4 * kRunPageBytes);
}

TEST_F(RunsModelLarge, GrowsInPlaceIntoAFreeRun) {
  const uint64_t block = pages(2);
  release(pinned(3));
  EXPECT_EQ(resize(block, 4), block);
  EXPECT_EQ(usable(block), 4 * kRunPageBytes);
  EXPECT_EQ(counter("dirtyPages"), 1u);
  EXPECT_EQ(counter("bytesCopied"), 0u);
}

TEST_F(RunsModelLarge, GrowsInPlaceUpToTheEndOfItsChunk) {
  const uint64_t block = pages(100);
  EXPECT_EQ(resize(block, kLargestRunPages), block);
  EXPECT_EQ(absent_pages(block, kLargestRunPages), 0u);
}

TEST_F(RunsModelLarge, DoesNotGrowBeyondItsChunk) {
  pages(154);
  const uint64_t last = pages(100);
  EXPECT_NE(resize(last, 101), last);
}

TEST_F(RunsModelLarge, MovesIfTheRunBehindIsTooSmall) {
  const uint64_t block = pages(2);
  release(pinned(3));
  EXPECT_NE(resize(block, 6), block);
  EXPECT_EQ(counter("bytesCopied"), 2 * kRunPageBytes);
}

TEST_F(RunsModelLarge, MovesToASmallClassCopyingWhatItKeeps) {
  const uint64_t block = pages(2);
  EXPECT_EQ(usable(reallocate(block, 2000)), 2048u);
  EXPECT_EQ(counter("bytesCopied"), 2000u);
}

TEST_F(RunsModelLarge, KeepsUpTo256DirtyPages) {
  const uint64_t high = pinned(128);
  const uint64_t low = pinned(128);
  release(low);
  release(high);
  EXPECT_EQ(counter("dirtyPages"), 256u);
  EXPECT_EQ(counter("purgeSweeps"), 0u);
}

TEST_F(RunsModelLarge, PurgesTheHighestChunkUntilHalfTheLimitIsLeft) {
  const uint64_t high = pinned(157);
  const uint64_t low = pinned(100);
  release(high);
  release(low);
  EXPECT_EQ(counter("purgeSweeps"), 1u);
  EXPECT_EQ(counter("madviseCalls"), 1u);
  EXPECT_EQ(counter("pagesPurged"), 157u);
  EXPECT_EQ(counter("dirtyPages"), 100u);
}

TEST_F(RunsModelLarge, PurgesAChunkFromItsHighestPageDown) {
  const uint64_t low = pinned(100);
  const uint64_t high = pinned(129);
  const uint64_t elsewhere = pinned(28);  // in the next chunk
  release_all({elsewhere, high, low});
  EXPECT_EQ(counter("pagesPurged"), 129u);
  EXPECT_EQ(absent_pages(high, 129), 129u);
  EXPECT_EQ(absent_pages(low, 100), 0u);
}

TEST_F(RunsModelLarge, PurgesAStretchOfDirtyPagesWithOneCall) {
  const uint64_t high = pinned(128);
  pages(kLargestRunPages - 129);
  const uint64_t low = pages(128);
  const uint64_t behind_low = pinned(1);
  release_all({low, high, behind_low});
  EXPECT_EQ(counter("madviseCalls"), 2u);
  EXPECT_EQ(counter("pagesPurged"), 257u);
  EXPECT_EQ(counter("dirtyPages"), 0u);
}

TEST_F(RunsModelLarge, HoldsNothingWhereAFreshChunkWasNotUsed) {
  const uint64_t block = pages(3);
  EXPECT_EQ(absent(),
            (std::vector<AddressRange>{{block + 3 * kRunPageBytes, kFirstChunk + kRunChunkBytes}}));
}

TEST_F(RunsModelLarge, HoldsNothingInPurgedPagesUntilTheyAreUsedAgain) {
  const uint64_t low = pinned(100);
  const uint64_t high = pinned(157);
  release(high);
  EXPECT_EQ(absent_pages(high, 157), 0u);
  release(low);
  EXPECT_EQ(absent_pages(high, 157), 157u);
  EXPECT_EQ(pages(157), high);
  EXPECT_EQ(absent_pages(high, 157), 0u);
}

}  // namespace
}  // namespace heaptape::allocators::runs
