// In which order model:ptmalloc looks for a chunk, and what it counts on its way.
#include <gtest/gtest.h>

#include <string>

#include "allocators/models/ptmalloc/ptmalloc_model.h"
#include "tests/support/model_heap.h"

namespace heaptape::allocators {
namespace {

using Heap = tests::ModelHeap<PtmallocModel>;

// Without caches, every free reaches the arena.
class PtmallocBins : public testing::Test {
 protected:
  // Blocks that are not neighbors, and none borders on top.
  std::vector<uint64_t> apart(const std::vector<uint64_t>& sizes) {
    std::vector<uint64_t> blocks;
    for (const uint64_t bytes : sizes) {
      blocks.push_back(heap_.allocate(bytes));
      heap_.allocate(24);
    }
    return blocks;
  }

  Heap heap_{{"tcache_count=0"}};
};

// The one that would fit comes behind 9,999 others, or 10,000.
TEST_F(PtmallocBins, AreSortedTenThousandChunksACall) {
  std::vector<uint64_t> blocks = apart(std::vector<uint64_t>(10'000, 2000));
  blocks.push_back(apart({2500})[0]);
  heap_.release_all(blocks);
  EXPECT_NE(heap_.allocate(2500), blocks.back());
  EXPECT_EQ(heap_.allocate(2500), blocks.back());
}

TEST_F(PtmallocBins, AreSortedUpToTheLastOfTenThousand) {
  std::vector<uint64_t> blocks = apart(std::vector<uint64_t>(9'999, 2000));
  blocks.push_back(apart({2500})[0]);
  heap_.release_all(blocks);
  EXPECT_EQ(heap_.allocate(2500), blocks.back());
}

TEST(PtmallocCache, TakesSevenChunksOfASizeAndServesTheLastFirst) {
  Heap heap;
  const auto blocks = heap.allocate_many(8, 100);
  heap.release_all(blocks);
  for (int i = 6; i >= 0; --i) EXPECT_EQ(heap.allocate(100), blocks[i]);
  EXPECT_EQ(heap.counter("tcacheHits"), 7u);
  EXPECT_EQ(heap.allocate(100), blocks[7]);
  EXPECT_EQ(heap.counter("fastbinHits"), 1u);
}

TEST(PtmallocCache, IsFilledFromAFastbinThatServes) {
  Heap heap({"tcache_count=2"});
  const auto blocks = heap.allocate_many(5, 100);
  heap.release_all(blocks);
  for (int i = 0; i < 2; ++i) heap.allocate(100);  // the cache is empty
  EXPECT_EQ(heap.allocate(100), blocks[4]);
  EXPECT_EQ(heap.allocate(100), blocks[2]);
  EXPECT_EQ(heap.allocate(100), blocks[3]);
  EXPECT_EQ(heap.counter("fastbinHits"), 1u);
  EXPECT_EQ(heap.counter("tcacheHits"), 4u);
}

TEST(PtmallocCache, IsPassedByWhenABlockIsToBeZeroed) {
  Heap heap;
  heap.release(heap.allocate(100));
  heap.model().allocate_zeroed(100);
  EXPECT_EQ(heap.counter("tcacheHits"), 0u);
}

TEST(PtmallocCache, IsNotThereInTheOldVersion) {
  Heap heap({"version=2.24"});
  EXPECT_EQ(heap.allocate(100), ptmalloc::kMainBase + 16);
  EXPECT_EQ(heap.counter("inUseBytes"), 112u);
}

TEST_F(PtmallocBins, SmallChunksAreServedOldestFirst) {
  const auto blocks = apart({200, 200});
  heap_.release_all(blocks);
  heap_.allocate(300);  // files both
  EXPECT_EQ(heap_.allocate(200), blocks[0]);
  EXPECT_EQ(heap_.counter("smallbinHits"), 1u);
  EXPECT_EQ(heap_.counter("unsortedProcessed"), 2u);
}

TEST_F(PtmallocBins, AnUnsortedChunkThatFitsExactlyIsTakenAtOnce) {
  const auto blocks = apart({200, 2000});
  heap_.release_all(blocks);
  EXPECT_EQ(heap_.allocate(200), blocks[0]);
  EXPECT_EQ(heap_.counter("unsortedProcessed"), 1u);
}

TEST_F(PtmallocBins, ALargeRequestTakesTheSmallestChunkThatFits) {
  const auto blocks = apart({5120, 5584, 5376});  // of one bin
  heap_.release_all(blocks);
  EXPECT_EQ(heap_.allocate(5190), blocks[2]);
  EXPECT_EQ(heap_.counter("largebinHits"), 1u);
}

TEST_F(PtmallocBins, OfEqualLargeChunksTheSecondIsTaken) {
  const auto blocks = apart({2000, 2000, 2000});
  heap_.release_all(blocks);
  heap_.allocate(5000);  // files them: the first, and behind it the newest
  EXPECT_EQ(heap_.allocate(2000), blocks[2]);
}

TEST_F(PtmallocBins, ALargerBinIsSplitAndTheRestServesTheNextSmallRequest) {
  const auto blocks = apart({3000});
  heap_.release_all(blocks);
  EXPECT_EQ(heap_.allocate(200), blocks[0]);
  EXPECT_EQ(heap_.allocate(300), blocks[0] + 208);
  EXPECT_EQ(heap_.counter("nextBinHits"), 1u);
}

TEST_F(PtmallocBins, WalksThroughALargeBinAreCounted) {
  const auto blocks = apart({262144, 272144, 282144, 292144});
  heap_.release_all(blocks);
  heap_.allocate(300000);
  EXPECT_EQ(heap_.counter("largebinSteps"), 0u);
  EXPECT_EQ(heap_.model().work(), heap_.counter("unsortedProcessed"));
}

TEST_F(PtmallocBins, SmallFreesAreJoinedWhenALargeBlockIsAskedFor) {
  const auto blocks = heap_.allocate_many(4, 100);
  heap_.allocate(24);
  heap_.release_all(blocks);
  EXPECT_EQ(heap_.counter("consolidations"), 0u);
  heap_.allocate(2000);
  EXPECT_EQ(heap_.counter("consolidations"), 1u);
  EXPECT_EQ(heap_.counter("chunksConsolidated"), 4u);
  EXPECT_EQ(heap_.allocate(430), blocks[0]);
}

TEST_F(PtmallocBins, ABlockGrowsIntoTop) {
  const uint64_t block = heap_.allocate(1000);
  EXPECT_EQ(heap_.reallocate(block, 2000), block);
  EXPECT_EQ(heap_.counter("reallocInPlaceTop"), 1u);
}

TEST_F(PtmallocBins, ABlockGrowsIntoAFreeNeighbour) {
  const auto blocks = heap_.allocate_many(3, 1000);
  heap_.release(blocks[1]);
  EXPECT_EQ(heap_.reallocate(blocks[0], 2000), blocks[0]);
  EXPECT_EQ(heap_.counter("reallocInPlaceNext"), 1u);
}

TEST_F(PtmallocBins, ABlockThatMovesIsCopied) {
  const auto blocks = heap_.allocate_many(2, 1000);
  EXPECT_NE(heap_.reallocate(blocks[0], 2000), blocks[0]);
  EXPECT_EQ(heap_.counter("bytesCopied"), 1000u);
}

TEST_F(PtmallocBins, ABlockThatShrinksGivesUpItsTail) {
  const auto blocks = heap_.allocate_many(2, 1000);
  EXPECT_EQ(heap_.reallocate(blocks[0], 400), blocks[0]);
  EXPECT_EQ(heap_.allocate(500), blocks[0] + 416);
  EXPECT_EQ(heap_.counter("reallocInPlaceShrink"), 1u);
}

}  // namespace
}  // namespace heaptape::allocators
