// The linked list of pagealign_alloc: what the walks of its frees cost.
#include <gtest/gtest.h>

#include "allocators/models/pagealign/pagealign_model.h"
#include "tests/support/model_heap.h"

namespace heaptape::allocators::pagealign {
namespace {

constexpr uint64_t kListPage = kPageBytes;

class PagealignListWalk : public testing::Test, protected tests::ModelHeap<PagealignList> {
 protected:
  PagealignListWalk() : ModelHeap({"base=runs"}) {}

  std::vector<uint64_t> pages(size_t count) {
    std::vector<uint64_t> blocks(count);
    for (uint64_t& block : blocks) block = allocate(kListPage, kListPage);
    return blocks;
  }
  uint64_t skipped_by_free_of(uint64_t address) {
    const uint64_t before = counter("listNodesSkipped");
    release(address);
    return counter("listNodesSkipped") - before;
  }
};

TEST_F(PagealignListWalk, SkipsWhatWasAllocatedLater) {
  const auto blocks = pages(5);
  EXPECT_EQ(skipped_by_free_of(blocks[1]), 3u);
  EXPECT_EQ(skipped_by_free_of(blocks[4]), 0u);
  EXPECT_EQ(skipped_by_free_of(blocks[0]), 2u);
}

TEST_F(PagealignListWalk, VisitsTheNodeItLooksForAsWell) {
  release_all(pages(5));
  EXPECT_EQ(counter("listNodesSkipped"), 10u);
  EXPECT_EQ(counter("listNodesVisited"), 15u);
}

TEST_F(PagealignListWalk, FirstToLastOf20000Skips199990000Nodes) {
  release_all(pages(20'000));
  EXPECT_EQ(counter("listNodesSkipped"), 199'990'000u);
  EXPECT_EQ(counter("listNodesVisited"), 200'010'000u);
}

TEST_F(PagealignListWalk, LastToFirstSkipsNothing) {
  auto blocks = pages(20'000);
  std::reverse(blocks.begin(), blocks.end());
  release_all(blocks);
  EXPECT_EQ(counter("listNodesSkipped"), 0u);
  EXPECT_EQ(counter("listNodesVisited"), 20'000u);
}

TEST_F(PagealignListWalk, OfAWindowSkipsAllButOne) {
  constexpr size_t kWindow = 64;
  auto window = pages(kWindow);
  for (int i = 0; i < 5000; ++i) {
    uint64_t& oldest = window[static_cast<size_t>(i) % kWindow];
    ASSERT_EQ(skipped_by_free_of(oldest), kWindow - 1);
    oldest = allocate(kListPage, kListPage);
  }
}

TEST_F(PagealignListWalk, IsFreeForBlocksOfTheBase) {
  pages(100);
  release_all(allocate_many(100, 5000));
  EXPECT_EQ(counter("listNodesVisited"), 0u);
}

TEST_F(PagealignListWalk, HasANodeOf24BytesForEachBlock) {
  const auto blocks = pages(10);
  EXPECT_EQ(counter("nodeBytes"), 240u);
  EXPECT_EQ(counter("base.runsCreated"), 1u);
  release_all(blocks);
  EXPECT_EQ(counter("nodeBytes"), 0u);
}

// n = 2 GiB / 4 KiB: a CVS checkout that is drained first to last.
class PagealignGrowth : public testing::Test {
 protected:
  static constexpr size_t kPages = 524'288;

  template <typename Model>
  static GrowthCurve drained() {
    AddressSpace space;
    Model model(space, base::Values(Model::parameters()));
    std::vector<uint64_t> blocks(kPages);
    for (uint64_t& block : blocks) block = model.allocate(kListPage, kListPage).address;
    for (const uint64_t block : blocks) model.release(block);
    EXPECT_EQ(model.growth().size(), 1u);
    return model.growth().at(0);
  }
};

TEST_F(PagealignGrowth, OfTheListIs137438691328NodesSkippedOver524288Frees) {
  const GrowthCurve curve = drained<PagealignList>();
  EXPECT_EQ(curve.work_total, 137'438'691'328u);
  EXPECT_EQ(curve.operations, 524'288u);
  EXPECT_EQ(curve.operation + ", " + curve.work + ", " + curve.scale,
            "free, nodes skipped, list length");
}

// A free of the first of a list of n skips n - 1.
TEST_F(PagealignGrowth, OfTheListIsInStepWithItsLength) {
  for (const GrowthPoint& point : drained<PagealignList>().points) {
    EXPECT_EQ(point.scale_sum - point.work_sum, static_cast<double>(point.operations));
  }
}

TEST_F(PagealignGrowth, OfTheHashMapIsOneProbeAFree) {
  const GrowthCurve curve = drained<PagealignHash>();
  EXPECT_EQ(curve.work_total, 524'288u);
  EXPECT_EQ(curve.operations, 524'288u);
  EXPECT_EQ(curve.operation + ", " + curve.work + ", " + curve.scale,
            "free, probes, table entries");
}

}  // namespace
}  // namespace heaptape::allocators::pagealign
