// model:runs, whole chunks: the spare, recycling, and huge blocks.
#include <gtest/gtest.h>

#include "allocators/models/runs/runs_model.h"
#include "tests/support/model_heap.h"

namespace heaptape::allocators::runs {
namespace {

class RunsModelChunks : public testing::Test, protected tests::ModelHeap<RunsModel> {
 protected:
  uint64_t whole_chunk() { return allocate(kLargeMaxBytes); }
};

TEST_F(RunsModelChunks, KeepAnEmptyOneAsTheSpare) {
  const uint64_t block = whole_chunk();
  release(block);
  EXPECT_EQ(counter("mappedBytes"), kRunChunkBytes);
  EXPECT_EQ(whole_chunk(), block);
  EXPECT_EQ(counter("chunksMapped"), 1u);
}

TEST_F(RunsModelChunks, TakeTheSpareOnlyWhenNoRunFits) {
  const uint64_t first = whole_chunk();
  const uint64_t second = allocate(4096);
  release(first);
  EXPECT_EQ(allocate(8192), second + 4096);
  EXPECT_EQ(whole_chunk(), first);
}

TEST_F(RunsModelChunks, GiveTheFormerSpareAndItsDirtyPagesBack) {
  release_all({whole_chunk(), whole_chunk()});
  EXPECT_EQ(counter("mappedBytes"), kRunChunkBytes);
  EXPECT_EQ(counter("recycledBytes"), kRunChunkBytes);
  EXPECT_EQ(counter("dirtyPages"), kLargestRunPages);
  EXPECT_EQ(counter("purgeSweeps"), 0u);
}

TEST_F(RunsModelChunks, AreRecycledBeforeNewOnesAreMapped) {
  const uint64_t first = whole_chunk();
  const uint64_t second = whole_chunk();
  release_all({first, second});
  EXPECT_EQ(whole_chunk(), second);
  EXPECT_EQ(whole_chunk(), first);
  EXPECT_EQ(counter("chunksMapped"), 2u);
  EXPECT_EQ(counter("recycledBytes"), 0u);
}

TEST_F(RunsModelChunks, StayCommittedButHoldNothingWhileKeptForRecycling) {
  const uint64_t block = allocate(3 * kRunChunkBytes);
  release(block);
  EXPECT_EQ(committed_bytes(), 3 * kRunChunkBytes);
  EXPECT_EQ(absent(), (std::vector<AddressRange>{{block, block + 3 * kRunChunkBytes}}));
}

TEST_F(RunsModelChunks, AreRecycledByBestFit) {
  const uint64_t large = allocate(5 * kRunChunkBytes);
  allocate(2 * kRunChunkBytes);
  const uint64_t fitting = allocate(3 * kRunChunkBytes);
  allocate(2 * kRunChunkBytes);
  release_all({large, fitting});
  EXPECT_EQ(allocate(3 * kRunChunkBytes), fitting);
  EXPECT_EQ(allocate(3 * kRunChunkBytes), large);
  EXPECT_EQ(counter("recycledBytes"), 2 * kRunChunkBytes);
}

TEST_F(RunsModelChunks, JoinWhenTheyAreKept) {
  const auto blocks = allocate_many(3, 2 * kRunChunkBytes);
  release_all({blocks[0], blocks[2], blocks[1]});
  EXPECT_EQ(allocate(6 * kRunChunkBytes), blocks[2]);
}

TEST_F(RunsModelChunks, AreUnmappedOnce128MiBAreKept) {
  const uint64_t kept = allocate(128 * kRunChunkBytes);
  const uint64_t unmapped = allocate(2 * kRunChunkBytes);
  release_all({kept, unmapped});
  EXPECT_EQ(counter("recycledBytes"), 128 * kRunChunkBytes);
  EXPECT_EQ(committed_bytes(), 128 * kRunChunkBytes);
}

TEST_F(RunsModelChunks, AreKeptBeyondTheLimitByTheOneThatReachesIt) {
  release_all({allocate(127 * kRunChunkBytes), allocate(50 * kRunChunkBytes)});
  EXPECT_EQ(counter("recycledBytes"), 177 * kRunChunkBytes);
}

TEST_F(RunsModelChunks, AreMappedDownwards) {
  const uint64_t first = allocate(2 * kRunChunkBytes);
  EXPECT_EQ(first, ChunkSpace::kTop - 2 * kRunChunkBytes);
  EXPECT_EQ(allocate(3 * kRunChunkBytes), first - 3 * kRunChunkBytes);
}

TEST_F(RunsModelChunks, AreMappedAgainAtTheHighestAddress) {
  const uint64_t unmapped = allocate(200 * kRunChunkBytes);
  const uint64_t kept = allocate(128 * kRunChunkBytes);
  release_all({kept, unmapped});
  EXPECT_EQ(allocate(150 * kRunChunkBytes), unmapped + 50 * kRunChunkBytes);
}

class RunsModelHuge : public RunsModelChunks {};

TEST_F(RunsModelHuge, BeginsWhereLargeEnds) {
  EXPECT_NE(allocate(kLargeMaxBytes) % kRunChunkBytes, 0u);
  const uint64_t block = allocate(kLargeMaxBytes + 1);
  EXPECT_EQ(block % kRunChunkBytes, 0u);
  EXPECT_EQ(usable(block), kLargeMaxBytes + kRunPageBytes);
}

TEST_F(RunsModelHuge, CommitsWholeChunksOfWhichTheEndHoldsNothing) {
  const uint64_t block = allocate(8000835);
  EXPECT_EQ(usable(block), 8003584u);
  EXPECT_EQ(committed_bytes(), 8 * kRunChunkBytes);
  EXPECT_EQ(absent(), (std::vector<AddressRange>{{block + 8003584, block + 8 * kRunChunkBytes}}));
}

TEST_F(RunsModelHuge, StaysWhileItsChunksAreAsMany) {
  const uint64_t block = allocate(8000835);
  EXPECT_EQ(reallocate(block, 8000925), block);
  EXPECT_EQ(counter("hugeInPlace"), 1u);
  EXPECT_EQ(counter("bytesCopied"), 0u);
}

TEST_F(RunsModelHuge, MovesWithItsUsableBytesWhenItNeedsMoreChunks) {
  const uint64_t block = allocate(8000835);
  EXPECT_NE(reallocate(block, 8880819), block);
  EXPECT_EQ(counter("bytesCopied"), 8003584u);
}

TEST_F(RunsModelHuge, StaysWhenAManifestOf8880467BytesGrowsABit) {
  const uint64_t block = allocate(8880467);
  EXPECT_EQ(reallocate(block, 8880819), block);
}

TEST_F(RunsModelHuge, BecomesMoreUsableInPlaceButNeverLess) {
  const uint64_t block = allocate(7 * kRunChunkBytes + 1);
  reallocate(block, 8 * kRunChunkBytes);
  EXPECT_EQ(usable(block), 8 * kRunChunkBytes);
  EXPECT_TRUE(absent().empty());
  reallocate(block, 7 * kRunChunkBytes + 1);
  EXPECT_EQ(usable(block), 8 * kRunChunkBytes);
}

TEST_F(RunsModelHuge, MovesToARunWhenItBecomesLarge) {
  const uint64_t moved = reallocate(allocate(2 * kRunChunkBytes), 100000);
  EXPECT_EQ(usable(moved), 102400u);
  EXPECT_EQ(counter("bytesCopied"), 100000u);
}

TEST_F(RunsModelHuge, IsRefusedBeyondTheAddressSpace) {
  EXPECT_EQ(allocate(uint64_t{1} << 47), 0u);
  EXPECT_EQ(allocate(UINT64_MAX), 0u);
  EXPECT_EQ(committed_bytes(), 0u);
}

TEST_F(RunsModelHuge, KeepsABlockThatCannotGrow) {
  const uint64_t small = allocate(100);
  const uint64_t huge = allocate(2 * kRunChunkBytes);
  EXPECT_EQ(reallocate(small, UINT64_MAX), 0u);
  EXPECT_EQ(reallocate(huge, UINT64_MAX), 0u);
  release_all({small, huge});
}

}  // namespace
}  // namespace heaptape::allocators::runs
