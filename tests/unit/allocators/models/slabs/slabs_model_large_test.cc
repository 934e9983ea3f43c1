// model:slabs, blocks from 16 KiB on: extents, arenas, mappings.
#include <gtest/gtest.h>

#include "allocators/models/slabs/slabs_model.h"
#include "tests/support/model_heap.h"
#include "tests/support/sizes.h"

namespace heaptape::allocators {
namespace {

using tests::kMiB;

constexpr uint64_t page_of(uint64_t address) {
  return address & ~uint64_t{4095};
}

class SlabsModelLarge : public testing::Test, protected tests::ModelHeap<SlabsModel> {
 protected:
  explicit SlabsModelLarge(const std::vector<std::string>& options = {"decay=off"})
      : ModelHeap(options) {}
};

TEST_F(SlabsModelLarge, TakesThePagesOfItsClassAndOneMore) {
  const uint64_t first = allocate(65536);
  EXPECT_EQ(page_of(allocate(65536)), page_of(first) + 65536 + 4096);
}

TEST_F(SlabsModelLarge, StartsAtAnyLineOfItsFirstPage) {
  std::vector<bool> lines(64);
  for (int i = 0; i < 2000; ++i) lines[allocate(16384) % 4096 / 64] = true;
  EXPECT_EQ(lines, std::vector<bool>(64, true));
}

TEST_F(SlabsModelLarge, GrowsIntoTheFreePagesBehindIt) {
  const uint64_t block = allocate(65536);
  EXPECT_EQ(reallocate(block, 200000), block);
  EXPECT_EQ(usable(block), 229376u);
  EXPECT_EQ(counter("largeInPlace"), 1u);
  EXPECT_EQ(counter("bytesCopied"), 0u);
}

TEST_F(SlabsModelLarge, MovesWhereTheNextPagesAreInUse) {
  const uint64_t block = allocate(65536);
  allocate(65536);
  EXPECT_NE(reallocate(block, 65537), block);
  EXPECT_EQ(counter("bytesCopied"), 65536u);
  EXPECT_EQ(counter("dirtyPages"), 17u);
}

TEST_F(SlabsModelLarge, ShrinksInPlace) {
  const uint64_t block = allocate(kMiB);
  EXPECT_EQ(reallocate(block, 65536), block);
  EXPECT_EQ(usable(block), 65536u);
  EXPECT_EQ(counter("dirtyPages"), (kMiB - 65536) / 4096);
}

TEST_F(SlabsModelLarge, KeepsUpToTwentyBlocksOf32KiBInTheCache) {
  const auto blocks = allocate_many(21, 32768);
  release_all({blocks.begin(), blocks.begin() + 20});
  EXPECT_EQ(counter("dirtyPages"), 0u);
  release(blocks[20]);
  EXPECT_EQ(counter("dirtyPages"), 10u * 9);
}

TEST_F(SlabsModelLarge, SplitsNoDirtyExtentMoreThan64TimesAsLarge) {
  const uint64_t block = allocate(2 * kMiB);
  release(block);
  const uint64_t dirty = counter("dirtyPages");
  allocate(16);  // one page of 513
  EXPECT_EQ(counter("dirtyPages"), dirty);
  allocate(65536);
  EXPECT_EQ(counter("dirtyPages"), dirty - 17);
}

TEST_F(SlabsModelLarge, MapsMoreEachTimeByTheSeriesOfClasses) {
  std::vector<uint64_t> steps;  // half MiB
  uint64_t mapped = counter("mappedBytes");
  while (steps.size() < 10) {
    allocate(65536);
    if (counter("mappedBytes") == mapped) continue;
    steps.push_back((counter("mappedBytes") - mapped) / (kMiB / 2));
    mapped = counter("mappedBytes");
  }
  EXPECT_EQ(steps, (std::vector<uint64_t>{5, 6, 7, 8, 10, 12, 14, 16, 20, 24}));
  EXPECT_EQ(committed_bytes(), mapped);
}

// As measured with the real one: the 32,025th does not fit the first two blocks.
TEST_F(SlabsModelLarge, MapsABlockForRecordsWhenTheyAreMany) {
  allocate_many(32024, 16384);
  EXPECT_EQ(counter("metadataBytes"), 6 * kMiB);
  allocate(16384);
  EXPECT_EQ(counter("metadataBytes"), 12 * kMiB);
}

// One of 2 MiB for each GiB of addresses, and a record for each block.
TEST_F(SlabsModelLarge, MapsATableForEachGiBOfAddresses) {
  allocate(uint64_t{1} << 30);
  EXPECT_EQ(counter("metadataBytes"), 6 * kMiB + 2 * kMiB + 6 * kMiB);
}

TEST_F(SlabsModelLarge, AlignsAnyBlock) {
  for (int log2 = 3; log2 < 26; ++log2) allocate(100000, uint64_t{1} << log2);
}

TEST_F(SlabsModelLarge, RefusesWhatItCannotMap) {
  EXPECT_EQ(allocate(uint64_t{1} << 50), 0u);
  EXPECT_EQ(allocate(UINT64_MAX), 0u);
  EXPECT_EQ(allocate(16, uint64_t{1} << 62), 0u);
  const uint64_t block = allocate(100);
  EXPECT_EQ(reallocate(block, uint64_t{1} << 50), 0u);
}

TEST_F(SlabsModelLarge, HasAnArenaForRequestsOf8MiB) {
  allocate(8 * kMiB - 1);
  EXPECT_EQ(counter("arenasCreated"), 1u);
  const uint64_t mapped = counter("mappedBytes");
  allocate(8 * kMiB);
  EXPECT_EQ(counter("arenasCreated"), 2u);
  EXPECT_EQ(counter("mappedBytes"), mapped + 2 * kMiB + 10 * kMiB);  // records, pages
}

TEST_F(SlabsModelLarge, DealsTheArenasOutToTheThreads) {
  for (uint32_t thread = 0; thread < 40; ++thread) model().set_thread(thread);
  EXPECT_EQ(counter("arenasCreated"), 16u);
}

TEST_F(SlabsModelLarge, LetsAThreadCacheWhatAnotherOneAllocated) {
  const uint64_t block = allocate(16);
  model().set_thread(1);
  release(block);
  EXPECT_EQ(allocate(16), block);
}

struct SlabsModelOversize : SlabsModelLarge {
  SlabsModelOversize() : SlabsModelLarge({}) {}
};

TEST_F(SlabsModelOversize, PurgesAHugeBlockAtOnce) {
  const uint64_t block = allocate(8 * kMiB);
  release(block);
  EXPECT_EQ(counter("dirtyPages"), 0u);
  EXPECT_EQ(counter("pagesPurged"), 8 * kMiB / 4096 + 1);
  EXPECT_EQ(absent_bytes(page_of(block), 8 * kMiB), 8 * kMiB);
}

struct SlabsModelLowThreshold : SlabsModelLarge {
  SlabsModelLowThreshold() : SlabsModelLarge({"oversize_threshold=128KiB", "arenas=1"}) {}
};

TEST_F(SlabsModelLowThreshold, PurgesExtentsThatHaveGrownTogether) {
  const auto blocks = allocate_many(3, 65536);
  release(blocks[0]);
  EXPECT_EQ(counter("pagesPurged"), 0u);
  release(blocks[1]);
  EXPECT_EQ(counter("pagesPurged"), 34u);
}

TEST_F(SlabsModelLowThreshold, HasOneArenaForAllThreads) {
  for (uint32_t thread = 0; thread < 40; ++thread) model().set_thread(thread);
  EXPECT_EQ(counter("arenasCreated"), 1u);
}

// Each thread has an arena of its own, whose metadata begins with its first call.
TEST(SlabsSpace, HasRoomForMetadataWhenBlocksHaveNone) {
  tests::ModelHeap<SlabsModel> heap({"cores=1000", "oversize_threshold=0"});
  uint32_t thread = 0;
  for (int log2 = 44; log2 > 21; --log2) {
    do {
      heap.model().set_thread(++thread);
    } while (heap.allocate(uint64_t{1} << log2) != 0);
  }
  for (const uint32_t end = thread + 1000; thread < end;) {
    heap.model().set_thread(++thread);
    heap.allocate(8);
  }
}

}  // namespace
}  // namespace heaptape::allocators
