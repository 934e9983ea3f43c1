// Single numbers of glibc 2.36, all measured with the real code.
#include <gtest/gtest.h>

#include "allocators/models/ptmalloc/ptmalloc_model.h"
#include "tests/support/model_heap.h"

namespace heaptape::allocators {
namespace {

using ptmalloc::kMainBase;

class PtmallocFacts : public testing::Test, protected tests::ModelHeap<PtmallocModel> {
 protected:
  // A large block was mapped, and freed: the next will be of the heap.
  void raise_threshold(uint64_t bytes) {
    allocate(1);
    release(allocate(bytes));
  }

  // How much the arena grows for a large block when the rest of its hole was offered to a small
  // one, and the large one is put back into the hole at its former size.
  uint64_t growth_with_pin(uint64_t pin_bytes) {
    raise_threshold(8880819);
    const uint64_t hole = allocate(8880819);
    allocate(24);
    release(hole);
    const uint64_t smaller = allocate(8880467);
    allocate(pin_bytes);
    release(smaller);
    const uint64_t before = counter("arenaBytes");
    allocate(8880819);
    return counter("arenaBytes") - before;
  }
};

bool is_mapped(uint64_t address) {
  return address >= ptmalloc::kMappingsBase;
}

TEST_F(PtmallocFacts, TheFirstBlockTakes33PagesAndTheThreadCacheIsInUse) {
  allocate(1);
  EXPECT_EQ(counter("arenaBytes"), 135168u);
  EXPECT_EQ(committed_bytes(), 135168u);
  EXPECT_EQ(counter("inUseBytes"), 688u);
}

TEST_F(PtmallocFacts, TheFirstBlockStandsBehindTheThreadCache) {
  EXPECT_EQ(allocate(1), kMainBase + 656 + 16);
}

TEST_F(PtmallocFacts, ALargeBlockIsMappedInWholePages) {
  const uint64_t block = allocate(8880467);
  EXPECT_TRUE(is_mapped(block));
  EXPECT_EQ(usable(block), 8884224u - 16);
  EXPECT_EQ(counter("mappedBytes"), 8884224u);
}

TEST_F(PtmallocFacts, AMappedBlockThatIsFreedRaisesTheThresholds) {
  raise_threshold(8880467);
  EXPECT_EQ(counter("mmapThreshold"), 8884224u);
  EXPECT_EQ(counter("trimThreshold"), 17768448u);
}

TEST_F(PtmallocFacts, TheNextBlockOfThatSizeIsInTheHeap) {
  raise_threshold(8880467);
  EXPECT_EQ(allocate(8880467), kMainBase + 704);
}

TEST_F(PtmallocFacts, ASmallBlockComesToStandRightBehindTheLargeOne) {
  raise_threshold(8880467);
  const uint64_t large = allocate(8880467);
  EXPECT_EQ(allocate(232), large + 8880467 + 13);
}

TEST_F(PtmallocFacts, TheHoleThatTheLargeBlockLeftIsTooSmallForALargerOne) {
  raise_threshold(8880467);
  const uint64_t large = allocate(8880467);
  allocate(232);
  EXPECT_EQ(counter("arenaBytes"), 9015296u);
  release(large);
  EXPECT_EQ(allocate(8880819), kMainBase + 8881424);
  EXPECT_EQ(counter("arenaBytes"), 17895424u);
}

TEST_F(PtmallocFacts, APinThatFitsTheRestOfAHoleMakesTheArenaGrow) {
  EXPECT_EQ(growth_with_pin(240), 8880128u);
}

TEST_F(PtmallocFacts, APinThatDoesNotFitTheRestOfAHoleCostsNothing) {
  EXPECT_EQ(growth_with_pin(2000000), 0u);
}

TEST_F(PtmallocFacts, AMappedBlockStaysMappedWhenItIsResized) {
  uint64_t block = allocate(200000);
  block = reallocate(block, 1000);
  EXPECT_TRUE(is_mapped(block));
  EXPECT_EQ(counter("mappedBytes"), 4096u);
  block = reallocate(block, 5000000);
  EXPECT_TRUE(is_mapped(block));
  EXPECT_EQ(counter("mappedBytes"), 5001216u);
  EXPECT_EQ(counter("mremapCalls"), 2u);
  EXPECT_EQ(counter("mmapThreshold"), 131072u);
}

TEST_F(PtmallocFacts, ABlockUpTo32MiBRaisesTheThreshold) {
  raise_threshold(33550336 - 4096);
  EXPECT_EQ(counter("mmapThreshold"), 33550336u);
}

TEST_F(PtmallocFacts, ABlockOf32MiBDoesNot) {
  raise_threshold(33554432 - 4096);
  EXPECT_EQ(counter("mmapThreshold"), 131072u);
}

TEST_F(PtmallocFacts, AMappingIsTakenFromTheThresholdOn) {
  EXPECT_FALSE(is_mapped(allocate(131072 - 8 - 16)));
  EXPECT_TRUE(is_mapped(allocate(131072 - 8)));
}

TEST_F(PtmallocFacts, ABlockOfNoBytesIsOfTheSmallestSize) {
  EXPECT_EQ(usable(allocate(0)), 24u);
}

TEST_F(PtmallocFacts, SizesBeyondPtrdiffMaxAreRefused) {
  EXPECT_EQ(allocate(uint64_t{1} << 63), 0u);
  EXPECT_EQ(allocate(INT64_MAX, 4096), 0u);
  EXPECT_EQ(counter("arenaBytes"), 0u);
}

TEST_F(PtmallocFacts, ClearedBlocksOfFreshMemoryCostNothing) {
  for (int i = 0; i < 10; ++i) model().release(model().allocate_zeroed(100 << 20).address);
  EXPECT_EQ(counter("bytesZeroed"), 0u);
  EXPECT_EQ(counter("mmapCalls"), 10u);
}

}  // namespace
}  // namespace heaptape::allocators
