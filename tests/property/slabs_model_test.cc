// Whatever the calls, model:slabs hands out memory that is its own and nobody else's.
#include <gtest/gtest.h>

#include "allocators/models/slabs/slabs_model.h"
#include "tests/support/model_heap.h"
#include "tests/support/tapes.h"

namespace heaptape::allocators {
namespace {

// Most are small, a few take megabytes, and no class is left out.
uint64_t any_size(tests::Random& random) {
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

class RandomSlabs : public tests::ModelHeap<SlabsModel> {
 public:
  RandomSlabs(tests::Random& random, const std::vector<std::string>& options)
      : ModelHeap(options), random_(random) {}

  void act(size_t most_blocks) {
    model().set_thread(static_cast<uint32_t>(random_.below(5)));
    model().set_time(time_ns_ += random_.below(2'000'000));
    if (blocks_.empty() || (blocks_.size() < most_blocks && random_.chance(2))) {
      const uint64_t alignment = random_.chance(8) ? uint64_t{1} << random_.below(23) : 0;
      blocks_.push_back(allocate(any_size(random_), alignment));
      EXPECT_EQ(usable(blocks_.back()),
                slabs::class_bytes(slabs::class_of(usable(blocks_.back()))));
      return;
    }
    uint64_t& block = blocks_[random_.below(blocks_.size())];
    if (random_.chance(3)) {
      const uint64_t near = usable(block) * (64 + random_.below(64)) / 96;
      block = reallocate(block, 1 + (random_.chance(2) ? near : any_size(random_)));
    } else {
      release(block);
      block = blocks_.back();
      blocks_.pop_back();
    }
  }
  void end() { release_all(blocks_); }

 private:
  tests::Random& random_;
  std::vector<uint64_t> blocks_;
  uint64_t time_ns_ = 0;
};

const std::vector<std::string> kOptions[] = {
    {},
    {"tcache=off", "arenas=1"},
    {"dirty_decay_ms=0", "arenas=3"},
    {"dirty_decay_ms=100", "muzzy_decay_ms=1000"},
    {"decay=off", "oversize_threshold=1MiB"},
};

class RandomSlabsHeap : public testing::TestWithParam<std::vector<std::string>> {
 protected:
  const uint64_t seed_ = tests::test_seed();
  tests::Random random_{seed_};
  RandomSlabs heap_{random_, GetParam()};
};

TEST_P(RandomSlabsHeap, KeepsBlocksApartAndOnMemoryItHolds) {
  SCOPED_TRACE("HEAPTAPE_TEST_SEED=" + std::to_string(seed_));
  for (const size_t most_blocks : {30u, 300u, 2000u}) {
    for (int i = 0; i < 8000; ++i) {
      heap_.act(most_blocks);
      if (i % 500 == 0) heap_.check_absent();
      if (HasFailure()) return;
    }
  }
}

TEST_P(RandomSlabsHeap, AccountsForAllMemoryItHolds) {
  SCOPED_TRACE("HEAPTAPE_TEST_SEED=" + std::to_string(seed_));
  for (int i = 0; i < 8000; ++i) heap_.act(500);
  heap_.end();
  heap_.check_absent();
  EXPECT_EQ(heap_.committed_bytes(), heap_.counter("mappedBytes"));
  const uint64_t free_bytes =
      (heap_.counter("dirtyPages") + heap_.counter("muzzyPages")) * kPageBytes +
      heap_.counter("retainedBytes") + heap_.counter("metadataBytes");
  EXPECT_LE(free_bytes, heap_.committed_bytes());
  EXPECT_GE(heap_.counter("slabsCreated"), heap_.counter("slabsFreed"));
}

INSTANTIATE_TEST_SUITE_P(Options, RandomSlabsHeap, testing::ValuesIn(kOptions));

}  // namespace
}  // namespace heaptape::allocators
