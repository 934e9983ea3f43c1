// Whatever the calls, model:ptmalloc hands out memory that is its own and nobody else's.
#include <gtest/gtest.h>

#include "allocators/models/ptmalloc/ptmalloc_model.h"
#include "tests/support/model_heap.h"
#include "tests/support/tapes.h"

namespace heaptape::allocators {
namespace {

// Most are small, and some need megabytes or a mapping of their own.
uint64_t any_size(tests::Random& random) {
  switch (random.below(16)) {
    case 0:
      return random.below(random.chance(4) ? 40 << 20 : 1 << 20);
    case 1:
    case 2:
    case 3:
      return random.below(20000);
    default:
      return random.below(random.chance(4) ? 1200 : 200);
  }
}

struct Setting {
  std::vector<std::string> options;
  uint32_t threads = 1;
};

class RandomPtmallocHeap : public testing::TestWithParam<Setting>,
                           protected tests::ModelHeap<PtmallocModel> {
 protected:
  RandomPtmallocHeap() : ModelHeap(GetParam().options) {}

  void act(tests::Random& random, size_t most_blocks) {
    model().set_thread(static_cast<uint32_t>(random.below(GetParam().threads)));
    if (blocks_.size() < most_blocks && random.chance(2)) {
      const uint64_t alignment = random.chance(8) ? uint64_t{1} << random.below(23) : 0;
      blocks_.push_back(allocate(any_size(random), alignment));
      return;
    }
    if (blocks_.empty()) return;
    uint64_t& block = blocks_[random.below(blocks_.size())];
    if (random.chance(3)) {
      const uint64_t near = usable(block) * (64 + random.below(64)) / 96;
      block = reallocate(block, 1 + (random.chance(2) ? near : any_size(random)));
    } else {
      release(block);
      block = blocks_.back();
      blocks_.pop_back();
    }
  }

  std::vector<uint64_t> blocks_;
};

TEST_P(RandomPtmallocHeap, KeepsBlocksApartAndOnMemoryItHolds) {
  const uint64_t seed = tests::test_seed();
  SCOPED_TRACE("HEAPTAPE_TEST_SEED=" + std::to_string(seed));
  tests::Random random(seed);
  for (const size_t most_blocks : {30u, 300u, 3000u}) {
    for (int i = 0; i < 20000; ++i) {
      act(random, most_blocks);
      if (i % 500 == 0) check_absent();
      if (HasFailure()) return;
    }
  }
}

TEST_P(RandomPtmallocHeap, HoldsWhatItSaysAndNoMappingsWhenEverythingIsFreed) {
  const uint64_t seed = tests::test_seed();
  SCOPED_TRACE("HEAPTAPE_TEST_SEED=" + std::to_string(seed));
  tests::Random random(seed);
  for (int i = 0; i < 20000; ++i) act(random, 1000);
  EXPECT_GE(committed_bytes(), counter("arenaBytes") + counter("mappedBytes"));
  if (GetParam().threads == 1) {
    EXPECT_EQ(committed_bytes(), counter("arenaBytes") + counter("mappedBytes"));
  }
  release_all(blocks_);
  EXPECT_EQ(counter("mappedBytes"), 0u);
  EXPECT_EQ(counter("mmapCalls"), counter("munmapCalls"));
}

INSTANTIATE_TEST_SUITE_P(Settings, RandomPtmallocHeap,
                         testing::Values(Setting{}, Setting{{"tcache_count=0"}},
                                         Setting{{"version=2.24"}},
                                         Setting{{"mmap_threshold=64KiB", "top_pad=0"}},
                                         Setting{{"mmap_max=0"}}, Setting{{}, 5},
                                         Setting{{"cores=1", "top_pad=0"}, 30},
                                         Setting{{"version=2.24", "arena_max=3"}, 8}));

}  // namespace
}  // namespace heaptape::allocators
