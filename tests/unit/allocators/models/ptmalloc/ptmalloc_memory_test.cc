// What model:ptmalloc takes from the system and gives back, and the parameters that govern it.
#include <gtest/gtest.h>

#include <string>

#include "allocators/models/ptmalloc/ptmalloc_model.h"
#include "tests/support/model_heap.h"

namespace heaptape::allocators {
namespace {

using ptmalloc::kMainBase;
using Heap = tests::ModelHeap<PtmallocModel>;

constexpr uint64_t kFirstBytes = 135168;  // of the heap, with the first block in it
constexpr uint64_t kUsedBytes = 656 + 32;

TEST(PtmallocMemory, TopIsAbsentBeyondItsFirstPage) {
  Heap heap;
  heap.allocate(1);
  EXPECT_EQ(heap.absent(),
            (std::vector<AddressRange>{{kMainBase + 4096, kMainBase + kFirstBytes}}));
}

TEST(PtmallocMemory, MemoryThatWasUsedAndJoinedTopIsNotAbsent) {
  Heap heap;
  heap.allocate(1);
  heap.release(heap.allocate(50000));
  EXPECT_EQ(heap.absent().at(0).begin, kMainBase + 53248);
  heap.check_absent();
}

uint64_t resident_bytes(const Heap& heap) {
  return heap.committed_bytes() - heap.absent_bytes(0, UINT64_MAX);
}

// The first page of the mapping, that of the block's header, and those of the block.
TEST(PtmallocMemory, WhatIsMappedToAlignABlockIsAbsent) {
  Heap heap;
  const uint64_t block = heap.allocate(1'100'000, 2 << 20);
  heap.check_absent();
  EXPECT_GT(heap.committed_bytes(), 3'100'000u);
  EXPECT_EQ(resident_bytes(heap), (2 + 269) * kPageBytes);
  heap.reallocate(block, 1'500'000);
  heap.check_absent();
  EXPECT_EQ(resident_bytes(heap), (2 + 367) * kPageBytes);
}

TEST(PtmallocMemory, WhatIsSkippedInTheHeapToAlignABlockIsAbsentUntilItIsUsed) {
  Heap heap({"mmap_threshold=32MiB"});
  heap.allocate(1);
  const uint64_t block = heap.allocate(100, 64 << 10);
  heap.check_absent();
  EXPECT_LE(resident_bytes(heap), 4 * 4096u) << "beginning, block, and top";
  const uint64_t before = heap.allocate(40'000);
  ASSERT_LT(before, block);
  heap.check_absent();
  EXPECT_GE(resident_bytes(heap), 40'000u);
  EXPECT_LE(resident_bytes(heap), 40'000u + 5 * 4096);
}

// A block whose place is close before that of an aligned one.
TEST(PtmallocMemory, WhatIsLeftBehindAnAlignedBlockIsAbsent) {
  Heap heap({"mmap_threshold=32MiB"});
  heap.allocate(64'000);
  const uint64_t before = resident_bytes(heap);
  heap.allocate(100, 64 << 10);
  heap.check_absent();
  EXPECT_LE(resident_bytes(heap), before + 2 * kPageBytes) << "block, and top";
}

TEST(PtmallocMemory, WhatWasUsedBeforeItWasSkippedIsNotAbsent) {
  Heap heap({"mmap_threshold=32MiB", "trim_threshold=1GiB"});
  heap.allocate(1);
  heap.release(heap.allocate(1'000'000));
  const uint64_t before = resident_bytes(heap);
  heap.allocate(100, 64 << 10);
  heap.check_absent();
  EXPECT_EQ(resident_bytes(heap), before);
}

TEST(PtmallocMemory, TheBreakGrowsByWhatIsMissingAndThePad) {
  Heap heap;
  heap.allocate(1);
  heap.allocate(131000);
  heap.allocate(100000);
  // 131,016 and 100,016 bytes, the pad and 32, in whole pages.
  EXPECT_EQ(heap.counter("arenaBytes"), 364544u);
  EXPECT_EQ(heap.counter("brkUp"), 2u);
}

TEST(PtmallocMemory, ALargeTopIsTrimmedToThePad) {
  Heap heap({"mmap_threshold=32MiB"});
  heap.allocate(1);
  heap.release(heap.allocate(1000000));
  // Page-wise, more than 33 bytes beyond the pad go.
  EXPECT_EQ(heap.counter("arenaBytes"), 135168u);
  EXPECT_EQ(heap.counter("brkDown"), 1u);
  EXPECT_EQ(heap.committed_bytes(), heap.counter("arenaBytes"));
}

// A block of 50,000 bytes between two others that was freed, and trimmed.
uint64_t make_trimmed_hole(Heap& heap) {
  heap.allocate(1);
  const uint64_t hole = heap.allocate(50000);
  heap.allocate(1);
  heap.release(hole);
  heap.give_back_memory();
  return hole;
}

// A free chunk begins with 48 bytes of glibc's own.
TEST(PtmallocMemory, ATrimEmptiesTheWholePagesOfAFreeChunk) {
  Heap heap;
  const uint64_t hole = make_trimmed_hole(heap);
  heap.check_absent();
  EXPECT_EQ(heap.absent_bytes(hole, 50000), 45056u);
  EXPECT_EQ(heap.absent().at(0).begin, page_up(hole - 16 + 48));
}

TEST(PtmallocMemory, ATrimLeavesTheLastPageOfTop) {
  Heap heap;
  heap.release(heap.allocate(100000));
  heap.give_back_memory();
  EXPECT_EQ(heap.committed_bytes(), 4096u);
  EXPECT_EQ(heap.counter("arenaBytes"), 4096u);
}

TEST(PtmallocMemory, ABlockInATrimmedHoleBringsItsPagesBackAndThatOfTheRest) {
  Heap heap;
  const uint64_t hole = make_trimmed_hole(heap);
  EXPECT_EQ(heap.allocate(10000), hole);
  heap.check_absent();
  EXPECT_EQ(heap.absent_bytes(hole, 50000), 45056u - 2 * 4096u);
}

TEST(PtmallocMemory, ATopBelowTheTrimThresholdStays) {
  Heap heap({"mmap_threshold=32MiB", "trim_threshold=2MiB"});
  heap.allocate(1);
  heap.release(heap.allocate(1000000));
  EXPECT_EQ(heap.counter("brkDown"), 0u);
  EXPECT_GT(heap.counter("arenaBytes"), 1000000u);
}

// What the arena has once a block of 200,000 bytes has joined top: 50 pages, of which top has all
// but the first 688 bytes. Each page that a trim takes is one less.
uint64_t arena_pages_with_top_of_204112_bytes(const std::string& top_pad,
                                              const std::string& trim_threshold) {
  Heap heap({"mmap_threshold=32MiB", "top_pad=" + top_pad, "trim_threshold=" + trim_threshold});
  heap.allocate(1);
  heap.release(heap.allocate(200000));
  return heap.counter("arenaBytes") / kPageBytes;
}

TEST(PtmallocMemory, ATopOfJustTheTrimThresholdIsTrimmed) {
  EXPECT_EQ(arena_pages_with_top_of_204112_bytes("0", "204112"), 1u);
}

TEST(PtmallocMemory, ATopOneUnitBelowTheTrimThresholdIsNot) {
  EXPECT_EQ(arena_pages_with_top_of_204112_bytes("0", "204128"), 50u);
}

TEST(PtmallocMemory, ATrimTakesAPageIfThePadAnd33BytesAreLeft) {
  EXPECT_EQ(arena_pages_with_top_of_204112_bytes("3375", "0"), 1u);
  EXPECT_EQ(arena_pages_with_top_of_204112_bytes("3376", "0"), 2u);
}

TEST(PtmallocMemory, WithoutAPadTheHeapGrowsByPages) {
  Heap heap({"top_pad=0"});
  heap.allocate(1);
  EXPECT_EQ(heap.counter("arenaBytes"), 4096u);
}

TEST(PtmallocMemory, AThresholdThatIsSetIsNotRaised) {
  for (const char* option :
       {"mmap_threshold=131072", "trim_threshold=131072", "top_pad=131072", "mmap_max=65536"}) {
    Heap heap({option});
    heap.release(heap.allocate(1000000));
    EXPECT_EQ(heap.counter("mmapThreshold"), 131072u) << option;
  }
}

TEST(PtmallocMemory, NothingIsMappedIfNoMappingsAreAllowed) {
  Heap heap({"mmap_max=0"});
  EXPECT_EQ(heap.allocate(10000000), kMainBase + 656 + 16);
  EXPECT_EQ(heap.counter("mmapCalls"), 0u);
}

TEST(PtmallocMemory, OnlySoManyBlocksAreMapped) {
  Heap heap({"mmap_max=2"});
  heap.allocate_many(3, 200000);
  EXPECT_EQ(heap.counter("mmapCalls"), 2u);
  EXPECT_EQ(heap.counter("mappedBytes"), 2 * 200704u);
}

TEST(PtmallocMemory, AMappedBlockThatGrowsIsNeverThereTwice) {
  Heap heap;
  const uint64_t block = heap.allocate(1000000);
  const uint64_t before = heap.committed_bytes();
  heap.reallocate(block, 2000000);
  EXPECT_EQ(heap.committed_bytes(), before - 1003520 + 2002944);
  EXPECT_EQ(heap.counter("bytesCopied"), 0u);
}

TEST(PtmallocMemory, AnAlignedBlockInAMappingLosesWhatIsBeforeIt) {
  Heap heap;
  const uint64_t block = heap.allocate(1000000, 65536);
  EXPECT_EQ(block % 65536, 0u);
  EXPECT_EQ(heap.counter("mappedBytes"), 1069056u);
  heap.release(block);
  EXPECT_EQ(heap.counter("mappedBytes"), 0u);
  EXPECT_EQ(heap.committed_bytes(), 0u);
}

// An aligned block in a mapping of 1,069,056 bytes: its header is 65,520 bytes behind the
// beginning.
class PtmallocAlignedMapping : public testing::Test, protected Heap {
 protected:
  static constexpr uint64_t kOffset = 65520;
  const uint64_t block_ = allocate(1000000, 65536);
};

TEST_F(PtmallocAlignedMapping, HasWhatIsBehindTheHeader) {
  EXPECT_EQ(usable(block_), 1069056 - kOffset - 16);
}

TEST_F(PtmallocAlignedMapping, RaisesTheThresholdsByItsChunkAlone) {
  release(block_);
  EXPECT_EQ(counter("mmapThreshold"), 1069056 - kOffset);
  EXPECT_EQ(counter("trimThreshold"), 2 * (1069056 - kOffset));
}

TEST_F(PtmallocAlignedMapping, KeepsItsOffsetWhenItGrows) {
  const uint64_t moved = reallocate(block_, 2000000);
  EXPECT_EQ(moved % kPageBytes, 0u);
  EXPECT_EQ(counter("mappedBytes"), 2068480u);  // 65,520 + 2,000,016 + 8 in whole pages
  EXPECT_EQ(usable(moved), 2068480 - kOffset - 16);
  release(moved);
  EXPECT_EQ(counter("mmapThreshold"), 2068480 - kOffset);
}

TEST(PtmallocMemory, ABlockBeyondTheAddressSpaceIsRefused) {
  Heap heap;
  EXPECT_EQ(heap.allocate(uint64_t{1} << 60), 0u);
  EXPECT_NE(heap.allocate(1), 0u);
}

TEST(PtmallocMemory, BlocksInUseAreCountedWithTheirHeadersAndCaches) {
  Heap heap;
  const uint64_t block = heap.allocate(1);
  EXPECT_EQ(heap.counter("inUseBytes"), kUsedBytes);
  const uint64_t other = heap.allocate(2000);
  heap.release(block);  // into the cache of the thread
  EXPECT_EQ(heap.counter("inUseBytes"), kUsedBytes + 2016);
  heap.release(other);  // into top
  EXPECT_EQ(heap.counter("inUseBytes"), kUsedBytes);
}

}  // namespace
}  // namespace heaptape::allocators
