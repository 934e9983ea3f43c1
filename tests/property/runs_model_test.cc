// Whatever the calls, model:runs hands out memory that is its own and nobody else's.
#include <gtest/gtest.h>

#include "allocators/models/runs/runs_model.h"
#include "tests/support/random_heap.h"

namespace heaptape::allocators::runs {
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

class RandomRunsHeap : public testing::Test, protected tests::RandomHeap<RunsModel> {
 protected:
  RandomRunsHeap() : RandomHeap(any_size) {}
};

TEST_F(RandomRunsHeap, KeepsBlocksApartAndOnMemoryItHolds) {
  for (const size_t most_blocks : {30u, 300u, 3000u}) run(most_blocks, 30'000);
}

TEST_F(RandomRunsHeap, ReturnsAllButTheSpareAndWhatItRecyclesWhenEverythingIsFreed) {
  run(1000, 30'000);
  release_everything();
  EXPECT_LE(counter("mappedBytes"), kRunChunkBytes);
  EXPECT_LE(counter("dirtyPages"), PageRuns::kDirtyMax);
  EXPECT_LT(counter("recycledBytes"), ChunkSpace::kRecycleLimitBytes + (16 << 20));
  EXPECT_EQ(committed_bytes(), counter("mappedBytes") + counter("recycledBytes"));
}

}  // namespace
}  // namespace heaptape::allocators::runs
