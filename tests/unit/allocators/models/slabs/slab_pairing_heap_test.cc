// The heap of extents: the order it keeps, and the order of jemalloc 5.3.0 that it does not.
#include "allocators/models/slabs/pairing_heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "tests/support/seeded_random.h"

namespace heaptape::allocators::slabs {
namespace {

class SlabPairingHeap : public testing::Test {
 protected:
  Extent& insert(uint64_t serial, uint64_t base = 0) {
    Extent& extent = extents_.emplace_back();
    extent.serial = serial;
    extent.base = base;
    heap_.insert(extent);
    return extent;
  }
  // The serials, until the heap is empty.
  std::vector<uint64_t> take_all() {
    std::vector<uint64_t> serials;
    while (Extent* const extent = heap_.first()) {
      serials.push_back(extent->serial);
      heap_.remove(*extent);
    }
    return serials;
  }

  PairingHeap heap_;
  std::deque<Extent> extents_;
};

TEST_F(SlabPairingHeap, IsEmptyAtFirst) {
  EXPECT_TRUE(heap_.empty());
  EXPECT_EQ(heap_.first(), nullptr);
}

TEST_F(SlabPairingHeap, PutsTheOldestMappingFirst) {
  for (const uint64_t serial : {5, 3, 8, 1, 9, 2}) insert(serial);
  EXPECT_EQ(take_all(), (std::vector<uint64_t>{1, 2, 3, 5, 8, 9}));
}

TEST_F(SlabPairingHeap, PutsTheLowestAddressOfAMappingFirst) {
  insert(1, 0x3000);
  Extent& lowest = insert(1, 0x1000);
  insert(1, 0x2000);
  EXPECT_EQ(heap_.first(), &lowest);
}

TEST_F(SlabPairingHeap, KeepsTheOrderWhenTheFirstIsAskedForAfterEachChange) {
  tests::SeededRandom random;
  std::vector<Extent*> held;
  for (int i = 0; i < 20000; ++i) {
    if (held.empty() || random.below(5) < 3) {
      held.push_back(&insert(random.below(50), i));
    } else {
      std::swap(held[random.below(held.size())], held.back());
      heap_.remove(*held.back());
      held.pop_back();
    }
    const auto first = std::ranges::min_element(held, {}, &Extent::rank);
    ASSERT_EQ(heap_.first(), held.empty() ? nullptr : *first);
  }
}

TEST_F(SlabPairingHeap, LosesNothing) {
  tests::Random random(7);
  for (int i = 0; i < 1000; ++i) {
    Extent& extent = insert(random.below(100), i);
    if (random.chance(3)) heap_.remove(extent);
    if (random.chance(3) && !heap_.empty()) heap_.first();
  }
  const size_t removed = 1000 - take_all().size();
  EXPECT_GT(removed, 200u);
  EXPECT_LT(removed, 500u);
  EXPECT_TRUE(heap_.empty());
}

// 10 goes before anyone asked for the first, and 40 takes its place with 20 still in the list.
TEST_F(SlabPairingHeap, HandsOutALaterOneWhereJemalloc530Does) {
  Extent& root = insert(10);
  insert(20);
  insert(40);
  heap_.remove(root);
  insert(30);
  EXPECT_EQ(take_all(), (std::vector<uint64_t>{30, 20, 40}));
}

}  // namespace
}  // namespace heaptape::allocators::slabs
