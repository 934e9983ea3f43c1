// Whatever the calls and the deaths foretold, model:foresight commits the pages that blocks touch,
// and no other.
#include "allocators/models/foresight/foresight_model.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/random_heap.h"

namespace heaptape::allocators {
namespace {

// Foretells anything.
template <Placing kPlacing>
class RandomDeaths : public ForesightModel {
 public:
  RandomDeaths(AddressSpace& space, const base::Values&) : ForesightModel(space, kPlacing) {}
  static std::vector<base::Parameter> parameters() { return {}; }

  Placement allocate(uint64_t bytes, uint64_t alignment) {
    foretell();
    return ForesightModel::allocate(bytes, alignment);
  }
  Placement reallocate(uint64_t address, uint64_t bytes) {
    foretell();
    return ForesightModel::reallocate(address, bytes);
  }

 private:
  void foretell() {
    ++now_;
    const uint64_t most = uint64_t{1} << random_.below(20);
    const bool survives = random_.chance(10);
    set_death(now_,
              survives ? foresight::kNever : now_ + static_cast<uint32_t>(1 + random_.below(most)));
  }

  tests::Random random_{tests::test_seed()};
  uint32_t now_ = 0;
};

uint64_t any_size(tests::Random& random) {
  if (random.chance(30)) return random.below(1 << 20);
  return random.chance(4) ? random.below(20'000) : random.below(600);
}

template <typename Model>
class ForesightModels : public testing::Test {};

using AllWays = testing::Types<RandomDeaths<Placing::kFirst>, RandomDeaths<Placing::kFit>,
                               RandomDeaths<Placing::kDeaths>, RandomDeaths<Placing::kBoxes>>;
TYPED_TEST_SUITE(ForesightModels, AllWays);

template <typename Heap>
uint64_t touched_bytes(const Heap& heap) {
  std::set<uint64_t> pages;
  for (const auto& [begin, end] : heap.live()) {
    for (uint64_t page = page_down(begin); page < end; page += kPageBytes) pages.insert(page);
  }
  return pages.size() * kPageBytes;
}

TYPED_TEST(ForesightModels, CommitThePagesThatBlocksTouch) {
  tests::RandomHeap<TypeParam> heap(any_size);
  for (const size_t most_blocks : {5u, 30u, 300u, 2000u}) {
    for (int i = 0; i < 100; ++i) {
      heap.run(most_blocks, 80);
      ASSERT_EQ(heap.committed_bytes(), touched_bytes(heap));
    }
  }
  heap.release_everything();
  EXPECT_EQ(heap.committed_bytes(), 0u);
}

}  // namespace
}  // namespace heaptape::allocators
