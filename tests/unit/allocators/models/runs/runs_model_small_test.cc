// model:runs, blocks up to 2,048 bytes: which region of which run.
#include <gtest/gtest.h>

#include "tests/support/model_heap.h"
#include "tests/unit/allocators/models/runs/runs_layout.h"

namespace heaptape::allocators::runs {
namespace {

constexpr uint32_t kPerRun = 63;  // regions of 64 bytes, in runs of one page

class RunsModelSmall : public testing::Test, protected tests::ModelHeap<RunsModel> {
 protected:
  // Region `index` of the run `number` that starts so many pages behind the first.
  static uint64_t region(uint32_t number, uint32_t index) {
    return kFirstRun + number * kRunPageBytes + 64 + index * 64;
  }
  void fill_runs(uint32_t count) { allocate_many(count * kPerRun, 64); }
};

TEST_F(RunsModelSmall, BeginsBehindTheHeadersOfChunkAndRun) {
  EXPECT_EQ(allocate(16), kFirstRun + 64);
}

TEST_F(RunsModelSmall, ChangesClassAtEachBoundary) {
  const std::pair<uint64_t, uint64_t> usable_of[] = {
      {0, 8},      {1, 8},       {8, 8},       {9, 16},      {16, 16},
      {17, 32},    {232, 240},   {496, 496},   {497, 512},   {512, 512},
      {513, 1024}, {1024, 1024}, {1025, 2048}, {2048, 2048}, {2049, 4096}};
  for (const auto& [bytes, expected] : usable_of) {
    EXPECT_EQ(usable(allocate(bytes)), expected) << bytes;
  }
}

TEST_F(RunsModelSmall, TakesTheLowestFreeRegion) {
  const auto blocks = allocate_many(3, 64);
  release(blocks[1]);
  release(blocks[0]);
  EXPECT_EQ(allocate(64), blocks[0]);
  EXPECT_EQ(allocate(64), blocks[1]);
}

TEST_F(RunsModelSmall, StartsARunWhenTheCurrentOneIsFull) {
  fill_runs(1);
  EXPECT_EQ(allocate(64), region(1, 0));
  EXPECT_EQ(counter("runsCreated"), 2u);
}

TEST_F(RunsModelSmall, MakesARunCurrentThatLiesLower) {
  fill_runs(2);
  allocate(64);
  release(region(0, 5));
  EXPECT_EQ(allocate(64), region(0, 5));
}

TEST_F(RunsModelSmall, SetsTheFormerCurrentRunAsideIfItHasRoom) {
  fill_runs(2);
  allocate(64);
  release(region(0, 5));
  allocate(64);
  EXPECT_EQ(allocate(64), region(2, 1));
  EXPECT_EQ(counter("runsReused"), 1u);
}

TEST_F(RunsModelSmall, ForgetsTheFormerCurrentRunIfItIsFull) {
  fill_runs(2);
  release(region(0, 5));
  allocate(64);
  EXPECT_EQ(allocate(64), region(2, 0));
  EXPECT_EQ(counter("runsReused"), 0u);
}

TEST_F(RunsModelSmall, SetsAHigherRunAside) {
  fill_runs(3);
  release(region(0, 5));
  release(region(1, 7));
  EXPECT_EQ(allocate(64), region(0, 5));
  EXPECT_EQ(allocate(64), region(1, 7));
  EXPECT_EQ(counter("runsReused"), 1u);
}

TEST_F(RunsModelSmall, ReusesTheLowestRunSetAside) {
  fill_runs(4);
  release(region(0, 0));
  release(region(3, 0));
  release(region(2, 0));
  EXPECT_EQ(allocate(64), region(0, 0));
  EXPECT_EQ(allocate(64), region(2, 0));
  EXPECT_EQ(allocate(64), region(3, 0));
}

TEST_F(RunsModelSmall, KeepsAFullRunCurrentForTheNextFree) {
  fill_runs(2);
  release(region(1, 9));
  EXPECT_EQ(allocate(64), region(1, 9));
  EXPECT_EQ(counter("runsReused"), 0u);
}

TEST_F(RunsModelSmall, GivesAnEmptyRunBackAsDirtyPages) {
  release(allocate(112));
  EXPECT_EQ(counter("dirtyPages"), 2u);
  EXPECT_EQ(allocate(16), kFirstRun + 64);
  EXPECT_EQ(counter("dirtyPages"), 1u);
}

TEST_F(RunsModelSmall, GivesBackARunThatWasSetAside) {
  fill_runs(3);
  release(region(0, 0));
  for (uint32_t i = 0; i < kPerRun; ++i) release(region(1, i));
  EXPECT_EQ(counter("dirtyPages"), 1u);
  EXPECT_EQ(allocate(16), kFirstRun + kRunPageBytes + 64);
}

TEST_F(RunsModelSmall, KeepsARunForEachClass) {
  EXPECT_EQ(allocate(16), kFirstRun + 64);
  EXPECT_EQ(allocate(160), kFirstRun + kRunPageBytes + 32);
  EXPECT_EQ(allocate(16), kFirstRun + 64 + 16);
}

TEST_F(RunsModelSmall, ResizesInPlaceWithinAClassOnly) {
  const uint64_t block = allocate(100);
  EXPECT_EQ(reallocate(block, 112), block);
  EXPECT_EQ(reallocate(block, 97), block);
  EXPECT_EQ(counter("bytesCopied"), 0u);
  EXPECT_NE(reallocate(block, 96), block);
  EXPECT_EQ(counter("bytesCopied"), 96u);
}

TEST_F(RunsModelSmall, CopiesTheOldUsableBytesWhenItGrows) {
  EXPECT_EQ(usable(reallocate(allocate(100), 3000)), 4096u);
  EXPECT_EQ(counter("bytesCopied"), 112u);
}

TEST_F(RunsModelSmall, PutsAHundredThousandBlocksOf232BytesInto1961RunsOf24Chunks) {
  allocate_many(100000, 232);
  EXPECT_EQ(counter("runsCreated"), 1961u);
  EXPECT_EQ(counter("chunksMapped"), 24u);
  EXPECT_EQ(committed_bytes(), 24 * kRunChunkBytes);
}

}  // namespace
}  // namespace heaptape::allocators::runs
