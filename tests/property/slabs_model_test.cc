// Whatever the calls, model:slabs hands out memory that is its own and nobody else's.
#include <gtest/gtest.h>

#include "allocators/models/slabs/slabs_model.h"
#include "tests/support/random_heap.h"

namespace heaptape::allocators {
namespace {

// Most are small, a few take megabytes, and no class is left out.
uint64_t any_slab_size(tests::Random& random) {
  switch (random.below(16)) {
    case 0:
      return random.below(12 << 20);
    case 1:
      return 14000 + random.below(4000);
    case 2:
    case 3:
    case 4:
      return random.below(200000);
    default:
      return random.below(random.chance(4) ? 15000 : 520);
  }
}

const std::vector<std::string> kOptions[] = {
    {},
    {"tcache=off", "arenas=1"},
    {"dirty_decay_ms=0", "arenas=3"},
    {"dirty_decay_ms=100", "muzzy_decay_ms=1000"},
    {"decay=off", "oversize_threshold=1MiB"},
};

class RandomSlabsHeap : public testing::TestWithParam<std::vector<std::string>>,
                        protected tests::RandomHeap<SlabsModel> {
 protected:
  RandomSlabsHeap() : RandomHeap(any_slab_size, GetParam()) {}

  void act(size_t most_blocks) {
    model().set_thread(static_cast<uint32_t>(random().below(5)));
    model().set_time(time_ns_ += random().below(2'000'000));
    const uint64_t block = RandomHeap::act(most_blocks);
    if (block == 0) return;
    EXPECT_EQ(usable(block), slabs::class_bytes(slabs::class_of(usable(block))));
  }

 private:
  uint64_t time_ns_ = 0;
};

TEST_P(RandomSlabsHeap, KeepsBlocksApartAndOnMemoryItHolds) {
  for (const size_t most_blocks : {30u, 300u, 2000u}) {
    for (int i = 0; i < 8000; ++i) {
      act(most_blocks);
      if (i % 500 == 0) check_absent();
      if (HasFailure()) return;
    }
  }
}

TEST_P(RandomSlabsHeap, AccountsForAllMemoryItHolds) {
  for (int i = 0; i < 8000; ++i) act(500);
  release_everything();
  check_absent();
  EXPECT_EQ(committed_bytes(), counter("mappedBytes"));
  const uint64_t free_bytes = (counter("dirtyPages") + counter("muzzyPages")) * kPageBytes +
                              counter("retainedBytes") + counter("metadataBytes");
  EXPECT_LE(free_bytes, committed_bytes());
  EXPECT_GE(counter("slabsCreated"), counter("slabsFreed"));
}

INSTANTIATE_TEST_SUITE_P(Options, RandomSlabsHeap, testing::ValuesIn(kOptions));

}  // namespace
}  // namespace heaptape::allocators
