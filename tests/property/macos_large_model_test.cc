// Whatever the calls, model:macos-large hands out memory that is its own and nobody else's, on any
// base.
#include <gtest/gtest.h>

#include "allocators/models/macos_large/macos_large_model.h"
#include "tests/support/model_heap.h"
#include "tests/support/tapes.h"

namespace heaptape::allocators {
namespace {

uint64_t any_size(tests::Random& random) {
  if (random.chance(3)) return random.below(200'000);
  return random.below(random.chance(8) ? 200 << 20 : 4 << 20);
}

class RandomMacosHeap : public tests::ModelHeap<MacosLargeModel> {
 public:
  using ModelHeap::ModelHeap;

  void act(tests::Random& random, uint64_t least_bytes = 1) {
    if (blocks_.size() < 60 && random.chance(2)) {
      const uint64_t alignment = random.chance(8) ? uint64_t{1} << random.below(23) : 0;
      blocks_.push_back(random.chance(3) ? allocate_zeroed(least_bytes + any_size(random))
                                         : allocate(least_bytes + any_size(random), alignment));
    } else if (!blocks_.empty()) {
      uint64_t& block = blocks_[random.below(blocks_.size())];
      if (random.chance(3)) {
        block = reallocate(block, least_bytes + any_size(random));
      } else {
        release(block);
        block = blocks_.back();
        blocks_.pop_back();
      }
    }
  }
  void release_everything() { release_all(std::exchange(blocks_, {})); }

 private:
  std::vector<uint64_t> blocks_;
};

void act_at_random(const std::vector<std::string>& options) {
  const uint64_t seed = tests::test_seed();
  SCOPED_TRACE("HEAPTAPE_TEST_SEED=" + std::to_string(seed));
  tests::Random random(seed);
  RandomMacosHeap heap(options);
  for (int i = 0; i < 20'000 && !testing::Test::HasFailure(); ++i) {
    heap.act(random);
    if (i % 100 == 0) heap.check_absent();
  }
}

TEST(RandomMacosHeap, KeepsBlocksApartAndOnMemoryItHolds) {
  act_at_random({});
}

TEST(RandomMacosHeap, DoesSoWithALargeReserve) {
  act_at_random({"ram=100GiB", "variant=dirty_only"});
}

TEST(RandomMacosHeap, DoesSoOnEveryBase) {
  for (const std::string& base : base_model_names()) act_at_random({"base=" + base, "entries=3"});
}

TEST(RandomMacosHeap, HoldsWhatItHasCachedWhenEverythingIsFreed) {
  const uint64_t seed = tests::test_seed();
  SCOPED_TRACE("HEAPTAPE_TEST_SEED=" + std::to_string(seed));
  tests::Random random(seed);
  RandomMacosHeap heap;
  for (int i = 0; i < 5000; ++i) heap.act(random, MacosLargeModel::kLargestSmallBytes + 1);
  heap.release_everything();
  EXPECT_EQ(heap.committed_bytes(), heap.counter("cacheBytes"));
  EXPECT_LE(heap.counter("reserveBytes"), 16u << 20);
}

}  // namespace
}  // namespace heaptape::allocators
