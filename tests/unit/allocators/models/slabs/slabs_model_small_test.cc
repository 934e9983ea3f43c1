// model:slabs, blocks up to 14,336 bytes: which region of which slab, and the caches of threads.
#include <gtest/gtest.h>

#include <algorithm>

#include "allocators/models/slabs/slabs_model.h"
#include "tests/support/model_heap.h"

namespace heaptape::allocators {
namespace {

// Behind the thread's cache (28,672 bytes) and the pool of the C++ run-time library (81,920), each
// with its pad. The same in a real process without address randomization, at 0x7ffff721d000.
constexpr uint64_t kFirstSlab = 0x2ffff721d000;

class SlabsModelCached : public testing::Test, protected tests::ModelHeap<SlabsModel> {};

TEST_F(SlabsModelCached, BeginsBehindWhatTheProcessTookAtItsStart) {
  EXPECT_EQ(counter("mappedBytes"), uint64_t{8} << 20);
  EXPECT_EQ(counter("metadataBytes"), uint64_t{6} << 20);
  EXPECT_EQ(allocate(16), kFirstSlab);
}

TEST_F(SlabsModelCached, HandsOutTheRegionsOfASlabFromTheLowestUp) {
  for (uint64_t i = 0; i < 256; ++i) EXPECT_EQ(allocate(16), kFirstSlab + 16 * i);
}

TEST_F(SlabsModelCached, FillsHalfTheSlotsOfAStackAtATime) {
  allocate_many(100, 16);
  EXPECT_EQ(counter("tcacheFills"), 1u);
  EXPECT_EQ(counter("tcacheHits"), 99u);
  allocate(16);
  EXPECT_EQ(counter("tcacheFills"), 2u);
}

TEST_F(SlabsModelCached, HandsOutTheBlockFreedLast) {
  const auto blocks = allocate_many(3, 100);
  release(blocks[0]);
  release(blocks[2]);
  EXPECT_EQ(allocate(100), blocks[2]);
  EXPECT_EQ(allocate(100), blocks[0]);
}

TEST_F(SlabsModelCached, GivesTheCacheOfAThreadBackThatEnds) {
  model().set_thread(1);
  release_all(allocate_many(10, 100));
  model().end_thread(1);
  EXPECT_EQ(counter("tcacheFlushes"), 1u);
  EXPECT_EQ(counter("slabsFreed"), 1u);
}

TEST_F(SlabsModelCached, GivesTheArenaOfAThreadThatEndedToTheNext) {
  for (uint32_t thread = 1; thread <= 20; ++thread) {
    model().set_thread(thread);
    release(allocate(100));
    model().end_thread(thread);
  }
  EXPECT_EQ(counter("arenasCreated"), 2u);
}

TEST_F(SlabsModelCached, PurgesTheArenaThatTheLastThreadLeaves) {
  model().set_thread(1);
  release_all(allocate_many(20, 20000));
  model().end_thread(1);
  EXPECT_EQ(counter("pagesPurged"), 20 * 6u);  // one page each is a pad
}

TEST_F(SlabsModelCached, KeepsTheDirtyPagesOfAnArenaThatAnotherThreadUses) {
  model().set_thread(0);
  model().set_thread(1);
  release_all(allocate_many(20, 20000));
  for (uint32_t thread = 2; thread <= 40; ++thread) {
    model().set_thread(thread);
    allocate(100);
  }
  model().end_thread(1);
  EXPECT_EQ(counter("pagesPurged"), 0u);
}

TEST_F(SlabsModelCached, GivesHalfAStackBackWhenItIsFull) {
  const auto blocks = allocate_many(201, 16);  // 99 of 300 remain in the stack
  release_all({blocks.begin(), blocks.begin() + 101});
  EXPECT_EQ(counter("tcacheFlushes"), 0u);
  release(blocks[101]);
  EXPECT_EQ(counter("tcacheFlushes"), 1u);
}

// 41 classes, one every 64 KiB of calls.
TEST_F(SlabsModelCached, GivesBackWhatAStackDidNotNeedSinceItsLastTurn) {
  release_all(allocate_many(20, 14336));
  release_all(allocate_many(20, 40));
  const uint64_t flushes = counter("tcacheFlushes");
  for (int i = 0; i < 2 * 41; ++i) release(allocate(65536));
  EXPECT_GT(counter("tcacheFlushes"), flushes);
}

TEST_F(SlabsModelCached, ServesAlignmentsUpToAPageFromSlabs) {
  for (const uint64_t alignment : {8, 16, 64, 256, 1024, 4096}) {
    EXPECT_LE(usable(allocate(24, alignment)), std::max<uint64_t>(alignment, 32));
  }
}

TEST_F(SlabsModelCached, KeepsABlockThatStaysInItsClass) {
  const uint64_t block = allocate(100);
  EXPECT_EQ(reallocate(block, 112), block);
  EXPECT_NE(reallocate(block, 113), block);
  EXPECT_EQ(counter("bytesCopied"), 112u);
}

class SlabsModelUncached : public testing::Test, protected tests::ModelHeap<SlabsModel> {
 protected:
  SlabsModelUncached() : ModelHeap({"tcache=off", "decay=off"}) {}
};

TEST_F(SlabsModelUncached, TakesTheLowestFreeRegion) {
  const auto blocks = allocate_many(3, 64);
  release(blocks[1]);
  release(blocks[0]);
  EXPECT_EQ(allocate(64), blocks[0]);
  EXPECT_EQ(allocate(64), blocks[1]);
}

TEST_F(SlabsModelUncached, StartsASlabWhenTheCurrentOneIsFull) {
  allocate_many(64, 64);
  EXPECT_EQ(counter("slabsCreated"), 1u);
  allocate(64);
  EXPECT_EQ(counter("slabsCreated"), 2u);
}

TEST_F(SlabsModelUncached, ReturnsToAnOlderSlabThatHasRoomAgain) {
  const auto blocks = allocate_many(3 * 64, 64);
  release(blocks[100]);
  release(blocks[10]);
  EXPECT_EQ(allocate(64), blocks[10]);
  EXPECT_EQ(allocate(64), blocks[100]);
}

TEST_F(SlabsModelUncached, FreesASlabWithItsLastBlock) {
  const auto blocks = allocate_many(64, 64);
  release_all({blocks.begin(), blocks.end() - 1});
  EXPECT_EQ(counter("slabsFreed"), 0u);
  release(blocks.back());
  EXPECT_EQ(counter("slabsFreed"), 1u);
  EXPECT_EQ(counter("dirtyPages"), 1u);
}

// From four pages on, with whatever is free next to them.
TEST_F(SlabsModelUncached, JoinsTheLargerSlabsAlone) {
  const auto pages = allocate_many(3, 4096);
  const auto large = allocate_many(3, 14336);  // two slabs of seven pages
  release_all(pages);
  EXPECT_EQ(counter("extentsCoalesced"), 0u);
  release_all(large);
  EXPECT_EQ(counter("extentsCoalesced"), 4u);
}

}  // namespace
}  // namespace heaptape::allocators
