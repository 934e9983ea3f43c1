// Whatever the calls, model:ptmalloc hands out memory that is its own and nobody else's.
#include <gtest/gtest.h>

#include "allocators/models/ptmalloc/ptmalloc_model.h"
#include "tests/support/random_heap.h"

namespace heaptape::allocators {
namespace {

// Most are small, and some need megabytes or a mapping of their own.
uint64_t any_chunk_size(tests::Random& random) {
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

  friend void PrintTo(const Setting& setting, std::ostream* out) {
    for (const std::string& option : setting.options) *out << option << " ";
    *out << "threads=" << setting.threads;
  }
};

class RandomPtmallocHeap : public testing::TestWithParam<Setting>,
                           protected tests::RandomHeap<PtmallocModel> {
 protected:
  RandomPtmallocHeap() : RandomHeap(any_chunk_size, GetParam().options) {}

  void act(size_t most_blocks) {
    model().set_thread(static_cast<uint32_t>(random().below(GetParam().threads)));
    RandomHeap::act(most_blocks);
  }
};

TEST_P(RandomPtmallocHeap, KeepsBlocksApartAndOnMemoryItHolds) {
  for (const size_t most_blocks : {30u, 300u, 3000u}) {
    for (int i = 0; i < 20000; ++i) {
      act(most_blocks);
      if (i % 500 == 0) check_absent();
      if (HasFailure()) return;
    }
  }
}

TEST_P(RandomPtmallocHeap, KeepsItsBlocksWhenItIsTrimmed) {
  for (int i = 0; i < 20000 && !HasFailure(); ++i) {
    act(300);
    if (i % 1000 == 0) give_back_memory();
    if (i % 500 == 0) check_absent();
  }
}

TEST_P(RandomPtmallocHeap, HoldsWhatItSaysAndNoMappingsWhenEverythingIsFreed) {
  for (int i = 0; i < 20000; ++i) act(1000);
  EXPECT_GE(committed_bytes(), counter("arenaBytes") + counter("mappedBytes"));
  if (GetParam().threads == 1) {
    EXPECT_EQ(committed_bytes(), counter("arenaBytes") + counter("mappedBytes"));
  }
  release_everything();
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
