// model:macos-large: what the cache of freed blocks keeps, hands out and zeroes.
#include <gtest/gtest.h>

#include "allocators/models/macos_large/macos_large_model.h"
#include "tests/support/model_heap.h"
#include "tests/support/sizes.h"

namespace heaptape::allocators::macos_large {
namespace {

using tests::kKiB;
using tests::kMiB;

class MacosLarge : public testing::Test, protected tests::ModelHeap<MacosLargeModel> {
 protected:
  explicit MacosLarge(const std::vector<std::string>& options = {}) : ModelHeap(options) {}

  void loop(uint64_t bytes, int times) {
    for (int i = 0; i < times; ++i) release(allocate_zeroed(bytes));
  }
  void free_new(uint64_t bytes) { release(allocate(bytes)); }
  uint64_t madvise_calls() const {
    return counter("madviseCanReuse") + counter("madviseReusable") + counter("madviseReuse");
  }
};

TEST_F(MacosLarge, ZeroesATerabyteInALoopOf100MiB) {
  loop(100 * kMiB, 10'000);
  EXPECT_EQ(counter("bytesZeroed"), 1'048'471'142'400u);
  EXPECT_EQ(counter("cacheHits"), 9'999u);
  EXPECT_EQ(counter("cacheMisses"), 1u);
}

TEST_F(MacosLarge, MakesThreeMadviseCallsARoundWith16GiBOfMemory) {
  loop(100 * kMiB, 10'000);
  EXPECT_EQ(madvise_calls(), 29'999u);
  EXPECT_EQ(counter("vmMap"), 1u);
  EXPECT_EQ(counter("vmDealloc"), 0u);
}

TEST_F(MacosLarge, SaysThatNoCachedBlockServed) {
  free_new(kMiB);
  allocate(2 * kMiB);
  EXPECT_EQ(rules(), "no cached block (of 1) can serve 2,097,152 bytes: a new mapping");
}

TEST_F(MacosLarge, SaysFromWhichSizeOnNothingIsCached) {
  allocate(1000 * kMiB);
  EXPECT_EQ(rules(), "blocks of 134,217,728 bytes or more are not cached: each is a new mapping");
}

TEST_F(MacosLarge, SaysThatAMappingGrewInPlace) {
  reallocate(allocate(kMiB), 2 * kMiB);
  EXPECT_EQ(
      rules(),
      "the addresses after the block are free: its mapping grows in place by 1,048,576 bytes");
}

TEST_F(MacosLarge, MapsBlocksOf1000MiBEachTime) {
  loop(1000 * kMiB, 10'000);
  EXPECT_EQ(counter("bytesZeroed"), 0u);
  EXPECT_EQ(counter("vmMap"), 10'000u);
  EXPECT_EQ(counter("vmDealloc"), 10'000u);
  EXPECT_EQ(madvise_calls(), 0u);
}

TEST_F(MacosLarge, CachesBlocksBelow128MiBOnly) {
  free_new(134'213'632);
  EXPECT_EQ(counter("cacheBytes"), 134'213'632u);
  free_new(134'217'728);
  EXPECT_EQ(counter("cacheBytes"), 134'213'632u);
  EXPECT_EQ(committed_bytes(), 134'213'632u);
}

TEST_F(MacosLarge, WastesLessThanHalfOfACachedBlock) {
  const uint64_t block = allocate(100 * kMiB);
  release(block);
  EXPECT_NE(allocate(50 * kMiB), block);
  EXPECT_EQ(allocate(50 * kMiB + 4 * kKiB), block);
  EXPECT_EQ(usable(block), 100 * kMiB);
}

TEST_F(MacosLarge, EvictsTheOldestOf17Blocks) {
  std::vector<uint64_t> blocks;
  for (uint64_t i = 1; i <= 17; ++i) blocks.push_back(allocate(i * kMiB));
  release_all(blocks);
  EXPECT_EQ(counter("cacheEvictions"), 1u);
  EXPECT_EQ(counter("vmDealloc"), 1u);
  EXPECT_EQ(counter("cacheBytes"), (17 * 18 / 2 - 1) * kMiB);
}

TEST_F(MacosLarge, PrefersTheNewestBlockOfTheVerySize) {
  const auto blocks = allocate_many(3, kMiB);
  release_all(blocks);
  EXPECT_EQ(allocate(kMiB), blocks[2]);
  EXPECT_EQ(counter("ringEntriesScanned"), 0u + 1 + 2 + 1);
}

TEST_F(MacosLarge, TakesTheSmallestCachedBlockThatIsLargeEnough) {
  const uint64_t seven = allocate(7 * kMiB);
  const uint64_t six = allocate(6 * kMiB);
  const uint64_t eight = allocate(8 * kMiB);
  release_all({seven, six, eight});
  EXPECT_EQ(allocate(5 * kMiB), six);
  EXPECT_EQ(allocate(5 * kMiB), seven);
}

TEST_F(MacosLarge, KeepsTheOrderOfTheRingWhenABlockLeavesIt) {
  std::vector<uint64_t> blocks;
  for (uint64_t i = 1; i <= 16; ++i) blocks.push_back(allocate(i * kMiB));
  release_all(blocks);
  allocate(5 * kMiB);
  free_new(40 * kMiB);
  EXPECT_EQ(counter("cacheEvictions"), 0u);
  free_new(80 * kMiB);
  EXPECT_EQ(counter("cacheEvictions"), 1u);
  EXPECT_EQ(counter("cacheBytes"), (16 * 17 / 2 - 5 - 1 + 40 + 80) * kMiB);
}

TEST_F(MacosLarge, ZeroesNoMoreOfALargerBlockThanWasAskedFor) {
  free_new(7 * kMiB);
  allocate_zeroed(5 * kMiB + 1);
  EXPECT_EQ(counter("bytesZeroed"), 5 * kMiB + 4096);
}

TEST_F(MacosLarge, ZeroesNothingForMalloc) {
  free_new(kMiB);
  allocate(kMiB);
  EXPECT_EQ(counter("cacheHits"), 1u);
  EXPECT_EQ(counter("bytesZeroed"), 0u);
}

TEST_F(MacosLarge, LetsA1024thOfTheMemoryStayDirty) {
  release_all({allocate(10 * kMiB), allocate(6 * kMiB), allocate(4 * kKiB * 40)});
  EXPECT_EQ(counter("reserveBytes"), 16 * kMiB);
  EXPECT_EQ(counter("madviseReusable"), 1u);
}

TEST_F(MacosLarge, GivesUpThePagesOfBlocksBeyondTheReserve) {
  const uint64_t kept = allocate(10 * kMiB);
  const uint64_t given_up = allocate(7 * kMiB);
  release_all({kept, given_up});
  EXPECT_EQ(absent(), (std::vector<AddressRange>{{given_up, given_up + 7 * kMiB}}));
  EXPECT_EQ(committed_bytes(), 17 * kMiB);
  allocate(7 * kMiB);
  EXPECT_TRUE(absent().empty());
  EXPECT_EQ(counter("madviseReuse"), 1u);
}

TEST_F(MacosLarge, CountsAnEvictedDirtyBlockOutOfTheReserve) {
  free_new(10 * kMiB);
  const auto blocks = allocate_many(16, 12 * kMiB);
  release_all(blocks);
  EXPECT_EQ(counter("reserveBytes"), 0u);
  free_new(30 * kMiB);
  EXPECT_EQ(counter("reserveBytes"), 0u);
  free_new(kMiB);
  EXPECT_EQ(counter("reserveBytes"), kMiB);
}

class LargeMemory : public MacosLarge {
 protected:
  LargeMemory() : MacosLarge({"ram=256GiB"}) {}
};

TEST_F(LargeMemory, SavesTwoOfTheThreeMadviseCallsButNoZeroes) {
  loop(100 * kMiB, 100);
  EXPECT_EQ(madvise_calls(), 100u);
  EXPECT_EQ(counter("bytesZeroed"), 99 * 100 * kMiB);
}

class DirtyOnly : public MacosLarge {
 protected:
  DirtyOnly() : MacosLarge({"variant=dirty_only"}) {}
};

TEST_F(DirtyOnly, ZeroesNothingWherePagesWereGivenUp) {
  loop(100 * kMiB, 100);
  EXPECT_EQ(counter("bytesZeroed"), 0u);
  EXPECT_EQ(counter("cacheHits"), 99u);
}

TEST_F(DirtyOnly, ZeroesWhatStayedDirty) {
  loop(10 * kMiB, 100);
  EXPECT_EQ(counter("bytesZeroed"), 99 * 10 * kMiB);
}

class PartlyTouched : public MacosLarge {
 protected:
  PartlyTouched() : MacosLarge({"variant=dirty_only", "touched=25"}) {}
};

TEST_F(PartlyTouched, ZeroesNoMoreThanWasWritten) {
  loop(8 * kMiB, 100);
  EXPECT_EQ(counter("bytesZeroed"), 99 * 2 * kMiB);
}

TEST_F(MacosLarge, TellsWhatItsBaseCounts) {
  allocate(100);
  EXPECT_EQ(counter("base.inUseBytes"), 112 + 656u);  // with the thread's cache of model:ptmalloc
}

class NoCache : public MacosLarge {
 protected:
  NoCache() : MacosLarge({"variant=no_cache"}) {}
};

TEST_F(NoCache, MapsAndUnmapsEachTime) {
  loop(100 * kMiB, 100);
  EXPECT_EQ(counter("bytesZeroed"), 0u);
  EXPECT_EQ(counter("vmMap"), 100u);
  EXPECT_EQ(counter("vmDealloc"), 100u);
  EXPECT_EQ(madvise_calls(), 0u);
}

class TwoEntries : public MacosLarge {
 protected:
  TwoEntries() : MacosLarge({"entries=2"}) {}
};

TEST_F(TwoEntries, HoldTwoBlocksOfLessThanAGibibyte) {
  release_all({allocate(1023 * kMiB), allocate(500 * kMiB), allocate(kMiB)});
  EXPECT_EQ(counter("cacheBytes"), 501 * kMiB);
  free_new(1024 * kMiB);
  EXPECT_EQ(counter("cacheBytes"), 501 * kMiB);
}

}  // namespace
}  // namespace heaptape::allocators::macos_large
