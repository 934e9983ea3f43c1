// model:first-fit, next-fit and best-fit by hand: with 8 bytes of header, a block of n bytes takes
// n + 8 rounded up to 16, and the first one begins 16 bytes into the heap.
#include <gtest/gtest.h>

#include "allocators/models/textbook/fit_heap.h"
#include "tests/support/model_heap.h"
#include "tests/support/sizes.h"

namespace heaptape::allocators::textbook {
namespace {

using tests::kKiB;

template <typename Model>
class FitTest : public testing::Test, protected tests::ModelHeap<Model> {
 protected:
  using Heap = tests::ModelHeap<Model>;
  explicit FitTest(const std::vector<std::string>& options = {}) : Heap(options) {}

  // From the beginning of the heap.
  uint64_t place(uint64_t bytes, uint64_t alignment = 0) {
    return Heap::allocate(bytes, alignment) - kModelBase;
  }
  void free(uint64_t offset) { Heap::release(kModelBase + offset); }
  uint64_t resize(uint64_t offset, uint64_t bytes) {
    return Heap::reallocate(kModelBase + offset, bytes) - kModelBase;
  }
  uint64_t usable_at(uint64_t offset) const { return Heap::usable(kModelBase + offset); }

  // Holes of 1008, 112 and 208 bytes at 16, 1056 and 1200, and the rest of the heap from 1440 on;
  // 32 bytes lie between them.
  void make_three_holes() {
    for (const uint64_t bytes : {1000, 24, 104, 24, 200, 24}) place(bytes);
    for (const uint64_t offset : {16, 1056, 1200}) free(offset);
    searched_ = Heap::counter("searchSteps");
  }
  uint64_t steps() {
    const uint64_t before = searched_;
    searched_ = Heap::counter("searchSteps");
    return searched_ - before;
  }

 private:
  uint64_t searched_ = 0;
};

class FirstFitTest : public FitTest<FirstFitModel> {
 protected:
  using FitTest::FitTest;
};
class NextFitTest : public FitTest<NextFitModel> {};
class BestFitTest : public FitTest<BestFitModel> {};

TEST_F(FirstFitTest, SaysNothingOfItsOneRuleToGrow) {
  place(100'000);
  EXPECT_EQ(rules(), "");
}

TEST_F(FirstFitTest, PlacesBlocksOneBehindTheOther) {
  EXPECT_EQ(place(100), 16u);
  EXPECT_EQ(place(104), 16u + 112);
  EXPECT_EQ(place(105), 16u + 2 * 112);
  EXPECT_EQ(place(1), 16u + 2 * 112 + 128);
  EXPECT_EQ(usable_at(16), 104u);
}

TEST_F(FirstFitTest, MakesNoBlockSmallerThan32Bytes) {
  EXPECT_EQ(place(0), 16u);
  EXPECT_EQ(place(24), 48u);
  EXPECT_EQ(place(25), 80u);
  EXPECT_EQ(place(1), 128u);
}

TEST_F(FirstFitTest, TakesTheLowestHoleThatIsLargeEnough) {
  make_three_holes();
  EXPECT_EQ(place(90), 16u);
  EXPECT_EQ(steps(), 1u);
  EXPECT_EQ(place(1000), 1440u);
  EXPECT_EQ(steps(), 4u);
}

TEST_F(FirstFitTest, LooksAtEveryHoleBeforeTheHeapGrows) {
  make_three_holes();
  place(100 * kKiB);
  EXPECT_EQ(steps(), 4u);
  EXPECT_EQ(counter("heapGrows"), 2u);
}

TEST_F(FirstFitTest, HoldsItsSearchesAgainstTheLengthOfTheList) {
  make_three_holes();
  place(5000);  // looks at four holes
  const std::vector<GrowthCurve> curves = model().growth();
  ASSERT_EQ(curves.size(), 1u);
  EXPECT_EQ(curves[0].scale, "free-list length");
  EXPECT_EQ(curves[0].operations, counter("searches"));
  EXPECT_EQ(curves[0].work_total, counter("searchSteps"));
  EXPECT_EQ(curves[0].points.back().scale_sum, 4);
  EXPECT_EQ(curves[0].points.back().work_sum, 4);
}

TEST_F(BestFitTest, TakesTheSmallestHoleThatIsLargeEnough) {
  make_three_holes();
  EXPECT_EQ(place(150), 1200u);
  EXPECT_EQ(steps(), 4u);
}

TEST_F(BestFitTest, EndsItsWalkAtAHoleOfTheVerySize) {
  make_three_holes();
  EXPECT_EQ(place(100), 1056u);
  EXPECT_EQ(steps(), 2u);
}

TEST_F(BestFitTest, TakesTheLowestOfEqualHoles) {
  for (int i = 0; i < 6; ++i) place(24);
  for (const uint64_t offset : {144, 80, 16}) free(offset);
  EXPECT_EQ(place(24), 16u);
  EXPECT_EQ(place(24), 80u);
}

TEST_F(NextFitTest, GoesOnWhereTheLastSearchEnded) {
  make_three_holes();
  EXPECT_EQ(place(100), 1440u);
  EXPECT_EQ(steps(), 1u);
}

TEST_F(NextFitTest, ComesRoundToTheBeginning) {
  make_three_holes();
  place(65536 - 1440 - 8);
  steps();
  EXPECT_EQ(place(500), 16u);
  EXPECT_EQ(steps(), 1u);
  EXPECT_EQ(place(488), 528u);
  EXPECT_EQ(steps(), 1u);
  EXPECT_EQ(place(150), 1200u);
  EXPECT_EQ(steps(), 2u);
}

TEST_F(NextFitTest, StepsBackWithTheHoleThatSwallowsItsPlace) {
  place(100);
  place(100);
  free(128);
  free(16);
  EXPECT_EQ(place(24), 16u);
}

TEST_F(FirstFitTest, JoinsAFreedBlockWithBothNeighbours) {
  for (int i = 0; i < 4; ++i) place(100);
  free(16);
  free(240);
  EXPECT_EQ(counter("merges"), 0u);
  free(128);
  EXPECT_EQ(counter("merges"), 2u);
  EXPECT_EQ(place(3 * 112 - 8), 16u);
}

TEST_F(FirstFitTest, IsOneHoleAgainWhenEverythingIsFreed) {
  const auto blocks = allocate_many(100, 300);
  for (size_t i = 0; i < 100; ++i) release(blocks[i * 37 % 100]);
  EXPECT_EQ(counter("splits"), 100u);
  EXPECT_EQ(counter("merges"), 100u);
  EXPECT_EQ(place(64 * kKiB - 16 - 8), 16u);
  EXPECT_EQ(committed_bytes(), 64 * kKiB);
}

TEST_F(FirstFitTest, LeavesARestThatIsTooSmallToItsBlock) {
  place(120);
  place(24);
  free(16);
  EXPECT_EQ(place(100), 16u);
  EXPECT_EQ(usable_at(16), 120u);
}

TEST_F(FirstFitTest, GrowsByWholeStepsAndUsesItsLastHole) {
  place(60 * kKiB);
  EXPECT_EQ(committed_bytes(), 64 * kKiB);
  EXPECT_EQ(place(60 * kKiB), 16u + 60 * kKiB + 16);
  EXPECT_EQ(committed_bytes(), 128 * kKiB);
  place(200 * kKiB);
  EXPECT_EQ(committed_bytes(), 384 * kKiB);
}

TEST_F(FirstFitTest, ResizesIntoTheHoleBehind) {
  place(100);
  place(100);
  place(100);
  free(128);
  EXPECT_EQ(resize(16, 150), 16u);
  EXPECT_EQ(usable_at(16), 152u);
  EXPECT_EQ(resize(16, 216), 16u);
  EXPECT_EQ(counter("resizesInPlace"), 2u);
  EXPECT_EQ(resize(16, 217), 352u);
  EXPECT_EQ(counter("bytesCopied"), 216u);
}

TEST_F(FirstFitTest, GivesUpTheEndOfABlockThatShrinks) {
  place(1000);
  place(100);
  EXPECT_EQ(resize(16, 500), 16u);
  EXPECT_EQ(usable_at(16), 504u);
  EXPECT_EQ(place(400), 528u);
}

TEST_F(FirstFitTest, CutsAnAlignedBlockOutOfAHole) {
  EXPECT_EQ(place(100, 4096), 4096u);
  EXPECT_EQ(place(4072), 16u);
  EXPECT_EQ(counter("splits"), 2u);
}

TEST_F(FirstFitTest, LeavesNoRoomBeforeAnAlignedBlockThatCouldNotBeAHole) {
  EXPECT_EQ(place(24, 32), 64u);
  EXPECT_EQ(place(24), 16u);
}

TEST_F(FirstFitTest, RefusesWhatIsBeyondTheAddressSpace) {
  EXPECT_EQ(allocate(UINT64_MAX), 0u);
  EXPECT_EQ(allocate(kHeapLimit - kModelBase), 0u);
  EXPECT_EQ(allocate(1, uint64_t{1} << 63), 0u);
  EXPECT_EQ(committed_bytes(), 0u);
  const uint64_t block = allocate(100);
  EXPECT_EQ(reallocate(block, UINT64_MAX), 0u);
  release(block);
}

class TrimmedFirstFit : public FirstFitTest {
 protected:
  TrimmedFirstFit() : FirstFitTest({"trim=128KiB", "grow_bytes=16KiB"}) {}
};

TEST_F(TrimmedFirstFit, KeepsASmallTop) {
  place(100);
  free(place(127 * kKiB));
  EXPECT_EQ(committed_bytes(), 128 * kKiB);
  EXPECT_EQ(counter("heapShrinks"), 0u);
}

TEST_F(TrimmedFirstFit, GivesALargeTopBackButForTheStepItBeginsIn) {
  place(20 * kKiB);
  free(place(200 * kKiB));
  EXPECT_EQ(committed_bytes(), 32 * kKiB);
  EXPECT_EQ(counter("heapShrinks"), 1u);
  EXPECT_EQ(place(20 * kKiB), 16u + 20 * kKiB + 16);
}

class UnusualFirstFit : public FirstFitTest {
 protected:
  UnusualFirstFit() : FirstFitTest({"header_bytes=0", "alignment=64", "min_split=256"}) {}
};

TEST_F(UnusualFirstFit, RoundsToTheAlignmentAlone) {
  EXPECT_EQ(place(64), 0u);
  EXPECT_EQ(place(65), 64u);
  EXPECT_EQ(usable_at(64), 128u);
}

TEST_F(UnusualFirstFit, SplitsNoRestBelowMinSplit) {
  place(64 + 192);
  place(64 + 256);
  place(64);
  free(0);
  free(256);
  place(320);
  EXPECT_EQ(place(64), 320u);
}

}  // namespace
}  // namespace heaptape::allocators::textbook
