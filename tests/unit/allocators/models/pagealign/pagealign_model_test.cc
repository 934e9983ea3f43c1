// What the pagealign models have in common, and what each page source does.
#include "allocators/models/pagealign/pagealign_model.h"

#include <gtest/gtest.h>

#include "allocators/models/runs/runs_model.h"
#include "tests/support/model_heap.h"

namespace heaptape::allocators {
namespace {

const std::vector<std::string> kOverRuns = {"base=runs"};

template <typename Model>
class EveryPagealign : public testing::Test, protected tests::ModelHeap<Model> {
 protected:
  EveryPagealign() : tests::ModelHeap<Model>(kOverRuns) {}
};
using EveryModel = testing::Types<PagealignList, PagealignHash, PagealignMemalign, PagealignMalloc>;
TYPED_TEST_SUITE(EveryPagealign, EveryModel);

TYPED_TEST(EveryPagealign, LeavesLesserAlignmentsToTheBase) {
  this->allocate(100);
  this->allocate(100, 2048);
  this->allocate(kPageBytes);
  EXPECT_EQ(this->counter("pagesRequested"), 0u);
}

TYPED_TEST(EveryPagealign, TakesPagesAndCoarserAlignmentsForItsOwn) {
  this->allocate(1, kPageBytes);
  this->allocate(2 * kPageBytes, kPageBytes);
  this->allocate(2 * kPageBytes + 1, 16 * kPageBytes);
  EXPECT_EQ(this->counter("pagesRequested"), 1u + 2u + 3u);
}

TYPED_TEST(EveryPagealign, HoldsEveryAlignment) {
  for (uint64_t alignment = kPageBytes; alignment <= 64 * kPageBytes; alignment *= 2) {
    for (uint64_t bytes = 1; bytes < 100 * kPageBytes; bytes += bytes / 2 + 1) {
      this->allocate(bytes, alignment);
    }
  }
  this->check_absent();
}

TYPED_TEST(EveryPagealign, ReusesWhatWasFreed) {
  for (int i = 0; i < 100; ++i) this->release(this->allocate(kPageBytes, kPageBytes));
  EXPECT_LE(this->committed_bytes(), uint64_t{2} << 20);
}

TYPED_TEST(EveryPagealign, ResizesAPageBlock) {
  const uint64_t block = this->allocate(kPageBytes, kPageBytes);
  const uint64_t moved = this->reallocate(block, 100);
  this->release(this->reallocate(moved, 3 * kPageBytes));
  EXPECT_TRUE(this->live().empty());
}

TYPED_TEST(EveryPagealign, RefusesWhatNoAddressSpaceHolds) {
  EXPECT_EQ(this->allocate(UINT64_MAX - 100, kPageBytes), 0u);
  EXPECT_EQ(this->allocate(uint64_t{1} << 48, kPageBytes), 0u);
  EXPECT_EQ(this->allocate(kPageBytes, uint64_t{1} << 63), 0u);
  EXPECT_EQ(this->counter("pagesRequested"), 0u);
}

TYPED_TEST(EveryPagealign, HasTheTraitsOfItsBase) {
  EXPECT_EQ(this->model().traits().granule_log2, RunsModel::traits().granule_log2);
}

TYPED_TEST(EveryPagealign, OffersEveryBase) {
  EXPECT_EQ(TypeParam::parameters().at(0).choices, base_model_names());
}

class PagealignMapped : public testing::Test, protected tests::ModelHeap<PagealignList> {
 protected:
  PagealignMapped() : ModelHeap(kOverRuns) {}
};

TEST_F(PagealignMapped, MapsExactlyThePagesOfTheBlock) {
  allocate(1);  // the base's first chunk
  const uint64_t before = committed_bytes();
  EXPECT_EQ(usable(allocate(2 * kPageBytes + 1, kPageBytes)), 3 * kPageBytes);
  EXPECT_EQ(committed_bytes(), before + 3 * kPageBytes);
  EXPECT_EQ(counter("pagesMapped"), 3u);
}

TEST_F(PagealignMapped, UnmapsWithTheFree) {
  const uint64_t block = allocate(5 * kPageBytes, kPageBytes);
  const uint64_t before = committed_bytes();
  release(block);
  EXPECT_EQ(committed_bytes(), before - 5 * kPageBytes);
  EXPECT_EQ(counter("mmapCalls"), 1u);
  EXPECT_EQ(counter("munmapCalls"), 1u);
}

TEST_F(PagealignMapped, MapsApartFromTheBase) {
  EXPECT_EQ(allocate(kPageBytes, kPageBytes), kWrapperBase);
  EXPECT_EQ(allocate(kPageBytes, kPageBytes), kWrapperBase + kPageBytes);
  EXPECT_LT(allocate(kPageBytes), kWrapperBase);
}

TEST_F(PagealignMapped, RefusesABlockOfNothingAsMmapDoes) {
  EXPECT_EQ(allocate(0, kPageBytes), 0u);
  EXPECT_EQ(counter("mmapCalls"), 0u);
}

TEST_F(PagealignMapped, BecomesABlockOfTheBaseWhenItIsResized) {
  const uint64_t block = allocate(3 * kPageBytes, kPageBytes);
  EXPECT_LT(reallocate(block, 100), kWrapperBase);
  EXPECT_EQ(counter("munmapCalls"), 1u);
  EXPECT_EQ(counter("nodeBytes"), 0u);
}

// Wherever a huge block of the base ends, it ends below kWrapperBase: with a size there is no room
// for, it is refused.
TEST(PagealignSpace, KeepsPageBlocksApartFromHugeOnesOfEveryBase) {
  for (const std::string& base : base_model_names()) {
    SCOPED_TRACE(base);
    tests::ModelHeap<PagealignList> heap({"base=" + base});
    heap.allocate(kPageBytes, kPageBytes);
    for (int log2 = 40; log2 < 48; ++log2) heap.allocate(uint64_t{1} << log2);
    heap.allocate(kWrapperBase - kModelBase + kPageBytes);
  }
}

// runs serves 4096 + 4095 bytes by two pages, whose first is aligned already.
TEST(PagealignPadded, HasWhatRoundingLeavesOfTheBlock) {
  tests::ModelHeap<PagealignMalloc> heap(kOverRuns);
  EXPECT_EQ(heap.usable(heap.allocate(kPageBytes, kPageBytes)), 2 * kPageBytes);
  EXPECT_EQ(heap.counter("nodeBytes"), pagealign::ListRegistry::kNodeBytes);
}

// Blocks of the base may lie on a page boundary, too.
TEST(PagealignPadded, TellsItsBlocksFromThoseOfTheBase) {
  tests::ModelHeap<PagealignMalloc> heap(kOverRuns);
  const uint64_t ordinary = heap.allocate(2 * kPageBytes);
  ASSERT_EQ(ordinary % kPageBytes, 0u);
  heap.allocate(kPageBytes, kPageBytes);
  heap.release(ordinary);
  EXPECT_EQ(heap.counter("listNodesVisited"), 0u);
}

TEST(PagealignAligned, AsksTheBaseForTheAlignment) {
  tests::ModelHeap<PagealignMemalign> heap(kOverRuns);
  EXPECT_EQ(heap.usable(heap.allocate(100, kPageBytes)), kPageBytes);
  EXPECT_STREQ(heap.model().work_unit(), "pages purged");
}

}  // namespace
}  // namespace heaptape::allocators
