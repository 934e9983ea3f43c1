// Whatever the calls, the textbook models hand out memory that is their own and nobody else's.
#include <gtest/gtest.h>

#include "allocators/models/textbook/buddy_heap.h"
#include "allocators/models/textbook/bump_heap.h"
#include "allocators/models/textbook/fit_heap.h"
#include "allocators/models/textbook/segregated_heap.h"
#include "tests/support/model_heap.h"
#include "tests/support/tapes.h"

namespace heaptape::allocators {
namespace {

uint64_t any_size(tests::Random& random) {
  if (random.chance(16)) return random.below(4 << 20);
  return random.chance(4) ? random.below(100'000) : random.below(600);
}

template <typename Model>
class RandomHeap : public tests::ModelHeap<Model> {
 public:
  using Heap = tests::ModelHeap<Model>;
  using Heap::Heap;

  void run(tests::Random& random, size_t most_blocks, int calls) {
    for (int i = 0; i < calls && !testing::Test::HasFailure(); ++i) act(random, most_blocks);
  }
  void release_everything() { Heap::release_all(std::exchange(blocks_, {})); }

 private:
  void act(tests::Random& random, size_t most_blocks) {
    if (blocks_.size() < most_blocks && random.chance(2)) {
      const uint64_t alignment = random.chance(8) ? uint64_t{1} << random.below(23) : 0;
      blocks_.push_back(Heap::allocate(any_size(random), alignment));
      return;
    }
    if (blocks_.empty()) return;
    uint64_t& block = blocks_[random.below(blocks_.size())];
    if (random.chance(3)) {
      const uint64_t near = Heap::usable(block) * (64 + random.below(64)) / 96;
      block = Heap::reallocate(block, 1 + (random.chance(2) ? near : any_size(random)));
    } else {
      Heap::release(block);
      block = blocks_.back();
      blocks_.pop_back();
    }
  }

  std::vector<uint64_t> blocks_;
};

template <typename Model>
class TextbookModels : public testing::Test {};

using AllModels = testing::Types<FirstFitModel, NextFitModel, BestFitModel, BuddyModel,
                                 SegregatedModel, BumpModel>;
TYPED_TEST_SUITE(TextbookModels, AllModels);

TYPED_TEST(TextbookModels, KeepBlocksApartAndOnMemoryTheyHold) {
  const uint64_t seed = tests::test_seed();
  SCOPED_TRACE("HEAPTAPE_TEST_SEED=" + std::to_string(seed));
  tests::Random random(seed);
  RandomHeap<TypeParam> heap;
  for (const size_t most_blocks : {30u, 300u, 2000u}) heap.run(random, most_blocks, 15'000);
}

template <typename Model>
class TrimmingModels : public testing::Test {};

using ModelsThatTrim =
    testing::Types<FirstFitModel, NextFitModel, BestFitModel, BuddyModel, SegregatedModel>;
TYPED_TEST_SUITE(TrimmingModels, ModelsThatTrim);

TYPED_TEST(TrimmingModels, KeepBlocksApartAndGiveTheTopBack) {
  const uint64_t seed = tests::test_seed();
  SCOPED_TRACE("HEAPTAPE_TEST_SEED=" + std::to_string(seed));
  tests::Random random(seed);
  RandomHeap<TypeParam> heap({"trim=1"});
  for (int round = 0; round < 3; ++round) {
    heap.run(random, 300, 10'000);
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
  const uint64_t seed = tests::test_seed();
  SCOPED_TRACE("HEAPTAPE_TEST_SEED=" + std::to_string(seed));
  tests::Random random(seed);
  RandomHeap<TypeParam> heap;
  heap.run(random, 300, 20'000);
  heap.release_everything();
  const uint64_t committed = heap.committed_bytes();
  EXPECT_NE(heap.allocate(committed - 32), 0u);
  EXPECT_EQ(heap.committed_bytes(), committed);
}

}  // namespace
}  // namespace heaptape::allocators
