// model:runs, blocks with an alignment of their own.
#include <gtest/gtest.h>

#include "tests/support/model_heap.h"
#include "tests/support/sizes.h"
#include "tests/unit/allocators/models/runs/runs_layout.h"

namespace heaptape::allocators::runs {
namespace {

using tests::kKiB;

class RunsModelAligned : public testing::Test, protected tests::ModelHeap<RunsModel> {};

TEST_F(RunsModelAligned, IsAnOrdinaryBlockOfARoundedSizeUpToAPage) {
  EXPECT_EQ(usable(allocate(100, 64)), 128u);
  EXPECT_EQ(usable(allocate(1, 1)), 8u);
  EXPECT_EQ(usable(allocate(2049, 1024)), 4096u);
  EXPECT_EQ(usable(allocate(100, 4096)), 4096u);
  EXPECT_EQ(usable(allocate(9000, 64)), 12288u);
}

TEST_F(RunsModelAligned, HoldsForEveryAlignmentAndSize) {
  for (uint64_t alignment = 1; alignment <= 4 * kRunChunkBytes; alignment *= 2) {
    for (uint64_t bytes = 1; bytes < 5 * kRunChunkBytes; bytes += bytes / 2 + 1)
      allocate(bytes, alignment);
  }
  check_absent();
}

TEST_F(RunsModelAligned, TrimsALongerRunOnBothSides) {
  const uint64_t block = allocate(10000, 64 * kKiB);
  EXPECT_EQ(block, kFirstChunk + 64 * kKiB);
  EXPECT_EQ(usable(block), 12288u);
  EXPECT_EQ(allocate(14 * kRunPageBytes), kFirstRun);
  EXPECT_EQ(allocate(4096), block + 12288);
}

TEST_F(RunsModelAligned, LeavesWhatItTrimsCleanAndAsAbsentAsItWas) {
  allocate(10000, 64 * kKiB);
  EXPECT_EQ(counter("dirtyPages"), 0u);
  EXPECT_EQ(absent_bytes(kFirstRun, 14 * kRunPageBytes), 14 * kRunPageBytes);
}

// 31 pages are sure to hold 3 at a multiple of 16.
TEST_F(RunsModelAligned, MakesDirtyPagesCleanThatItTrims) {
  const uint64_t block = allocate(40 * kRunPageBytes);
  allocate(1);
  release(block);
  allocate(10000, 64 * kKiB);
  EXPECT_EQ(counter("dirtyPages"), 40u - 31u);
  EXPECT_EQ(absent_bytes(kFirstRun, 40 * kRunPageBytes), 0u);
}

TEST_F(RunsModelAligned, TakesChunksWhereNoRunIsLongEnough) {
  const uint64_t block = allocate(600 * kKiB, 512 * kKiB);
  EXPECT_EQ(block % kRunChunkBytes, 0u);
  EXPECT_EQ(usable(block), 600 * kKiB);
  EXPECT_EQ(counter("mappedBytes"), kRunChunkBytes);
}

TEST_F(RunsModelAligned, TakesARunAsLongAsTheLongestThereIs) {
  const uint64_t longest = kLargeMaxBytes - 64 * kKiB + kRunPageBytes;
  EXPECT_NE(allocate(longest, 64 * kKiB) % kRunChunkBytes, 0u);
  EXPECT_EQ(allocate(longest + 1, 64 * kKiB) % kRunChunkBytes, 0u);
}

TEST_F(RunsModelAligned, TakesAChunkForASmallBlockOnItsBoundary) {
  EXPECT_EQ(usable(allocate(100, kRunChunkBytes)), 4096u);
}

TEST_F(RunsModelAligned, LeavesTheChunksBehindItUnmapped) {
  allocate(kRunChunkBytes);
  const uint64_t block = allocate(5 * kRunChunkBytes, 8 * kRunChunkBytes);
  EXPECT_EQ(block, ChunkSpace::kTop - 8 * kRunChunkBytes);
  EXPECT_EQ(allocate(2 * kRunChunkBytes), ChunkSpace::kTop - 3 * kRunChunkBytes);
  EXPECT_EQ(committed_bytes(), 8 * kRunChunkBytes);
}

TEST_F(RunsModelAligned, IsRecycledOnlyFromChunksWithRoomToAlign) {
  allocate(kRunChunkBytes);
  const uint64_t tight = allocate(9 * kRunChunkBytes);
  allocate(kRunChunkBytes);
  release(tight);
  EXPECT_EQ(allocate(2 * kRunChunkBytes, 8 * kRunChunkBytes),
            ChunkSpace::kTop - 8 * kRunChunkBytes);
  EXPECT_EQ(counter("chunksMapped"), 11u);
}

TEST_F(RunsModelAligned, StaysOnItsChunkWhileItsPagesAreAsMany) {
  const uint64_t block = allocate(5000, kRunChunkBytes);
  EXPECT_EQ(reallocate(block, 8000), block);
  EXPECT_EQ(counter("hugeInPlace"), 0u);
  EXPECT_NE(reallocate(block, 8193), block);
  EXPECT_EQ(counter("bytesCopied"), 8192u);
}

TEST_F(RunsModelAligned, IsRefusedWhenNoAddressCanBeThatRound) {
  EXPECT_EQ(allocate(100, uint64_t{1} << 63), 0u);
  EXPECT_EQ(allocate(UINT64_MAX - 100, 4096), 0u);
  EXPECT_EQ(allocate(kRunChunkBytes, uint64_t{1} << 50), 0u);
}

}  // namespace
}  // namespace heaptape::allocators::runs
