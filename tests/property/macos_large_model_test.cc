// Whatever the calls, model:macos-large hands out memory that is its own and nobody else's, on any
// base.
#include <gtest/gtest.h>

#include "allocators/models/macos_large/macos_large_model.h"
#include "tests/support/random_heap.h"

namespace heaptape::allocators::macos_large {
namespace {

uint64_t any_size(tests::Random& random) {
  if (random.chance(3)) return random.below(200'000);
  return random.below(random.chance(8) ? 200 << 20 : 4 << 20);
}

uint64_t large_size(tests::Random& random) {
  return MacosLargeModel::kLargestSmallBytes + 1 + any_size(random);
}

using RandomMacosHeap = tests::RandomHeap<MacosLargeModel>;

void act_at_random(const std::vector<std::string>& options) {
  RandomMacosHeap(any_size, options).run(60, 20'000);
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
  RandomMacosHeap heap(large_size);
  heap.run(60, 5000);
  heap.release_everything();
  EXPECT_EQ(heap.committed_bytes(), heap.counter("cacheBytes"));
  EXPECT_LE(heap.counter("reserveBytes"), 16u << 20);
}

}  // namespace
}  // namespace heaptape::allocators::macos_large
