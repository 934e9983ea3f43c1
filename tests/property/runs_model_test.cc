// Whatever the calls, model:runs hands out memory that is its own and nobody else's.
#include <gtest/gtest.h>

#include "allocators/models/runs/runs_model.h"
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
      return kLargeMaxBytes - 8192 + random.below(16384);
    case 2:
    case 3:
    case 4:
      return random.below(200000);
    default:
      return random.below(random.chance(4) ? 2100 : 520);
  }
}

class RandomRunsHeap : public testing::Test, protected tests::ModelHeap<RunsModel> {
 protected:
  void act(tests::Random& random, size_t most_blocks) {
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

TEST_F(RandomRunsHeap, KeepsBlocksApartAndOnMemoryItHolds) {
  const uint64_t seed = tests::test_seed();
  SCOPED_TRACE("HEAPTAPE_TEST_SEED=" + std::to_string(seed));
  tests::Random random(seed);
  for (const size_t most_blocks : {30u, 300u, 3000u}) {
    for (int i = 0; i < 30000; ++i) {
      act(random, most_blocks);
      if (i % 500 == 0) check_absent();
      if (HasFailure()) return;
    }
  }
}

TEST_F(RandomRunsHeap, ReturnsAllButTheSpareAndWhatItRecyclesWhenEverythingIsFreed) {
  const uint64_t seed = tests::test_seed();
  SCOPED_TRACE("HEAPTAPE_TEST_SEED=" + std::to_string(seed));
  tests::Random random(seed);
  for (int i = 0; i < 30000; ++i) act(random, 1000);
  release_all(blocks_);
  EXPECT_LE(counter("mappedBytes"), kRunChunkBytes);
  EXPECT_LE(counter("dirtyPages"), PageRuns::kDirtyMax);
  EXPECT_LT(counter("recycledBytes"), ChunkSpace::kRecycleLimitBytes + (16 << 20));
  EXPECT_EQ(committed_bytes(), counter("mappedBytes") + counter("recycledBytes"));
}

}  // namespace
}  // namespace heaptape::allocators
