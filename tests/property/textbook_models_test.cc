// Whatever the calls, the textbook models hand out memory that is their own and nobody else's.
#include <gtest/gtest.h>

#include "allocators/models/textbook/buddy_heap.h"
#include "allocators/models/textbook/bump_heap.h"
#include "allocators/models/textbook/fit_heap.h"
#include "allocators/models/textbook/segregated_heap.h"
#include "tests/support/random_heap.h"

namespace heaptape::allocators::textbook {
namespace {

uint64_t any_size(tests::Random& random) {
  if (random.chance(16)) return random.below(4 << 20);
  return random.chance(4) ? random.below(100'000) : random.below(600);
}

template <typename Model>
class TextbookModels : public testing::Test {};

using AllModels = testing::Types<FirstFitModel, NextFitModel, BestFitModel, BuddyModel,
                                 SegregatedModel, BumpModel>;
TYPED_TEST_SUITE(TextbookModels, AllModels);

TYPED_TEST(TextbookModels, KeepBlocksApartAndOnMemoryTheyHold) {
  tests::RandomHeap<TypeParam> heap(any_size);
  for (const size_t most_blocks : {30u, 300u, 2000u}) heap.run(most_blocks, 15'000);
}

template <typename Model>
class TrimmingModels : public testing::Test {};

using ModelsThatTrim =
    testing::Types<FirstFitModel, NextFitModel, BestFitModel, BuddyModel, SegregatedModel>;
TYPED_TEST_SUITE(TrimmingModels, ModelsThatTrim);

TYPED_TEST(TrimmingModels, KeepBlocksApartAndGiveTheTopBack) {
  tests::RandomHeap<TypeParam> heap(any_size, {"trim=1"});
  for (int round = 0; round < 3; ++round) {
    heap.run(300, 10'000);
    heap.release_everything();
  }
  EXPECT_GT(heap.counter("heapShrinks"), 0u);
}

// Sequential fits and buddies join everything again; pages of a class stay with it.
template <typename Model>
class JoiningModels : public testing::Test {};

using ModelsThatJoin = testing::Types<FirstFitModel, NextFitModel, BestFitModel, BuddyModel>;
TYPED_TEST_SUITE(JoiningModels, ModelsThatJoin);

TYPED_TEST(JoiningModels, AreOneHoleAgainWhenEverythingIsFreed) {
  tests::RandomHeap<TypeParam> heap(any_size);
  heap.run(300, 20'000);
  heap.release_everything();
  const uint64_t committed = heap.committed_bytes();
  EXPECT_NE(heap.allocate(committed - 32), 0u);
  EXPECT_EQ(heap.committed_bytes(), committed);
}

}  // namespace
}  // namespace heaptape::allocators::textbook
