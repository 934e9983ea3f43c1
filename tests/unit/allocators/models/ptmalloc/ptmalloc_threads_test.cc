// Threads in model:ptmalloc: a cache each, and arenas with heaps of their own.
#include <gtest/gtest.h>

#include <string>

#include "allocators/models/ptmalloc/ptmalloc_model.h"
#include "tests/support/model_heap.h"

namespace heaptape::allocators {
namespace {

using ptmalloc::kHeapMaxBytes;
using ptmalloc::kHeapsBase;
using ptmalloc::kMainBase;

constexpr uint64_t kFirstTop = 0x8d0;  // heap_info and malloc_state, rounded up
constexpr uint64_t kFurtherTop = 48;   // heap_info alone
constexpr uint64_t kThreadCacheBytes = 656;
constexpr uint64_t kHeaderBytes = 16;

class Threads : public tests::ModelHeap<PtmallocModel> {
 public:
  using ModelHeap::ModelHeap;
  // The first thread of all has been there before.
  uint64_t allocate_in(uint32_t thread, uint64_t bytes) {
    if (live().empty()) ModelHeap::allocate(1);
    model().set_thread(thread);
    return ModelHeap::allocate(bytes);
  }
  void release_in(uint32_t thread, uint64_t block) {
    model().set_thread(thread);
    release(block);
  }
  // 0: the main one's.
  static uint64_t heap_of(uint64_t block) {
    return block < kHeapsBase ? 0 : 1 + (block - kHeapsBase) / kHeapMaxBytes;
  }
};

TEST(PtmallocThreads, ASecondThreadGetsAnArenaAndItsCacheIsTheFirstBlockThere) {
  Threads heap;
  EXPECT_EQ(heap.allocate_in(1, 100), kHeapsBase + kFirstTop + kThreadCacheBytes + kHeaderBytes);
  EXPECT_EQ(heap.counter("arenas"), 2u);
  EXPECT_EQ(heap.counter("arenaBytes"), 2 * 135168u);
  EXPECT_EQ(heap.committed_bytes(), 2 * 135168u);
}

TEST(PtmallocThreads, TheVersionBeforeThreadCachesHasSmallerHeaders) {
  Threads heap({"version=2.24"});
  EXPECT_EQ(heap.allocate_in(1, 100), kHeapsBase + 0x8b0 + kHeaderBytes);
}

TEST(PtmallocThreads, WhicheverThreadAllocatesFirstHasTheMainArena) {
  Threads heap;
  heap.model().set_thread(5);
  EXPECT_EQ(heap.allocate(100), kMainBase + kThreadCacheBytes + kHeaderBytes);
}

TEST(PtmallocThreads, ABlockGoesToTheCacheOfTheThreadThatFreesIt) {
  Threads heap;
  const uint64_t block = heap.allocate(100);
  heap.release_in(1, block);
  EXPECT_EQ(heap.allocate_in(1, 100), block);
}

TEST(PtmallocThreads, ABlockTooManyForTheCacheGoesToItsOwnArena) {
  Threads heap({"tcache_count=1"});
  const auto blocks = heap.allocate_many(2, 100);
  heap.release_in(1, blocks[0]);
  heap.release_in(1, blocks[1]);
  EXPECT_EQ(heap.allocate_in(0, 100), blocks[1]);
}

TEST(PtmallocThreads, ABlockIsResizedInTheArenaThatItIsOf) {
  Threads heap;
  const uint64_t block = heap.allocate(100);
  heap.allocate(100);
  heap.model().set_thread(1);
  EXPECT_EQ(Threads::heap_of(heap.reallocate(block, 5000)), 0u);
}

TEST(PtmallocThreads, EachGetsAnArenaUpToEightTimesTheCores) {
  Threads heap({"cores=2"});
  for (uint32_t thread = 1; thread < 16; ++thread) {
    EXPECT_EQ(Threads::heap_of(heap.allocate_in(thread, 100)), thread);
  }
  EXPECT_EQ(Threads::heap_of(heap.allocate_in(16, 100)), 0u);
  EXPECT_EQ(heap.counter("arenas"), 16u);
}

TEST(PtmallocThreads, FurtherOnesTakeTheArenasInTurnNewestFirst) {
  Threads heap({"arena_max=3"});
  for (uint32_t thread = 1; thread < 3; ++thread) heap.allocate_in(thread, 100);
  std::vector<uint64_t> heaps;
  for (uint32_t thread = 3; thread < 8; ++thread) {
    heaps.push_back(Threads::heap_of(heap.allocate_in(thread, 100)));
  }
  EXPECT_EQ(heaps, (std::vector<uint64_t>{0, 2, 1, 0, 2}));
}

TEST(PtmallocThreads, OnASingleCoreThereAreNineBecauseTheCoresAreCountedLate) {
  Threads heap({"cores=1"});
  for (uint32_t thread = 1; thread < 20; ++thread) heap.allocate_in(thread, 100);
  EXPECT_EQ(heap.counter("arenas"), 9u);
}

TEST(PtmallocThreads, AThreadThatEndsLeavesItsArenaToTheNext) {
  Threads heap;
  EXPECT_EQ(Threads::heap_of(heap.allocate_in(1, 100)), 1u);
  heap.model().end_thread(1);
  EXPECT_EQ(Threads::heap_of(heap.allocate_in(2, 100)), 1u);
  EXPECT_EQ(heap.counter("arenas"), 2u);
}

TEST(PtmallocThreads, AThreadThatEndsGivesBackWhatItHadCached) {
  Threads heap;
  const uint64_t block = heap.allocate(100);
  heap.release_in(1, block);
  const uint64_t before = heap.counter("inUseBytes");
  heap.model().end_thread(1);
  EXPECT_EQ(heap.counter("inUseBytes"), before - 112 - kThreadCacheBytes);
  EXPECT_EQ(heap.allocate_in(0, 100), block);
}

// What a further arena has once a block of 200,000 bytes has joined top: 50 pages, of which top has
// all but the first 3,024 bytes.
uint64_t heap_pages_with_top_of_201776_bytes(const std::string& trim_threshold) {
  Threads heap({"mmap_threshold=32MiB", "top_pad=0", "trim_threshold=" + trim_threshold});
  heap.allocate_in(1, 100);
  const uint64_t main_bytes = kPageBytes;
  heap.release(heap.allocate(200000));
  return (heap.counter("arenaBytes") - main_bytes) / kPageBytes;
}

TEST(PtmallocThreads, ATopOfJustTheTrimThresholdIsTrimmed) {
  EXPECT_EQ(heap_pages_with_top_of_201776_bytes("201776"), 1u);
}

TEST(PtmallocThreads, ATopOneUnitBelowTheTrimThresholdIsNot) {
  EXPECT_EQ(heap_pages_with_top_of_201776_bytes("201792"), 50u);
}

class SecondArena : public testing::Test {
 protected:
  SecondArena() { heap_.allocate_in(1, 100); }

  // Two of these fill a heap.
  static constexpr uint64_t kHalf = 30 << 20;
  Threads heap_{{"mmap_threshold=40MiB", "cores=2"}};
};

TEST_F(SecondArena, GoesOnInAFurtherHeapWhenOneIsFull) {
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Threads::heap_of(heap_.allocate(kHalf)), 1u);
  EXPECT_EQ(heap_.allocate(kHalf), kHeapsBase + kHeapMaxBytes + kFurtherTop + kHeaderBytes);
}

TEST_F(SecondArena, DoesNotGrowAHeapThatItLeft) {
  for (int i = 0; i < 3; ++i) heap_.allocate(kHalf);
  EXPECT_EQ(Threads::heap_of(heap_.allocate(100000)), 2u);
}

TEST_F(SecondArena, GivesAHeapBackThatIsEmpty) {
  for (int i = 0; i < 2; ++i) heap_.allocate(kHalf);
  const uint64_t before = heap_.committed_bytes();
  const uint64_t further = heap_.allocate(kHalf);
  EXPECT_GT(heap_.committed_bytes(), before + kHalf);
  heap_.release(further);
  EXPECT_EQ(heap_.committed_bytes(), before);
  EXPECT_EQ(Threads::heap_of(heap_.allocate(100000)), 1u);
}

TEST_F(SecondArena, KeepsTheMemoryOfATrimmedHeapWritableWithoutContents) {
  const uint64_t block = heap_.allocate(kHalf);
  const uint64_t committed = heap_.committed_bytes();
  heap_.release(block);
  EXPECT_EQ(heap_.committed_bytes(), committed);
  EXPECT_GT(heap_.absent_bytes(block, kHalf), kHalf - (200 << 10));
  EXPECT_LT(heap_.counter("arenaBytes"), 135168u + (400 << 10));
  heap_.check_absent();
}

TEST_F(SecondArena, MapsWhatNoHeapCanHold) {
  EXPECT_GE(heap_.allocate(kHeapMaxBytes), ptmalloc::kMappingsBase);
}

}  // namespace
}  // namespace heaptape::allocators
