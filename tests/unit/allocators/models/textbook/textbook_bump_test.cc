// model:bump by hand, and the table of sizes it keeps.
#include <gtest/gtest.h>

#include <map>

#include "allocators/models/textbook/bump_heap.h"
#include "tests/support/model_heap.h"
#include "tests/support/seeded_random.h"

namespace heaptape::allocators::textbook {
namespace {

class Bump : public testing::Test, protected tests::ModelHeap<BumpModel> {};

TEST_F(Bump, PlacesEachBlockBehindTheOneBefore) {
  EXPECT_EQ(allocate(100), kModelBase);
  EXPECT_EQ(allocate(0), kModelBase + 112);
  EXPECT_EQ(allocate(16), kModelBase + 128);
}

TEST_F(Bump, NeverUsesMemoryAgain) {
  for (int i = 0; i < 1000; ++i) release(allocate(1000));
  EXPECT_EQ(allocate(1), kModelBase + 1000 * 1008);
  EXPECT_EQ(counter("lostBytes"), 1'008'000u);
  EXPECT_EQ(committed_bytes(), 1'048'576u);
}

TEST_F(Bump, GrowsTheBlockPlacedLastInPlace) {
  const uint64_t block = allocate(100);
  EXPECT_EQ(reallocate(block, 100'000), block);
  EXPECT_EQ(allocate(1), block + 100'000);
  EXPECT_EQ(counter("resizesInPlace"), 1u);
}

TEST_F(Bump, MovesAnyOtherBlockThatGrows) {
  const uint64_t block = allocate(100);
  allocate(100);
  EXPECT_EQ(reallocate(block, 200), kModelBase + 224);
  EXPECT_EQ(counter("bytesCopied"), 112u);
}

TEST_F(Bump, KeepsABlockThatShrinksAsItIs) {
  const uint64_t block = allocate(1000);
  EXPECT_EQ(reallocate(block, 10), block);
  EXPECT_EQ(usable(block), 1008u);
}

TEST_F(Bump, GrowsByWholeSteps) {
  allocate(1);
  EXPECT_EQ(committed_bytes(), 65'536u);
  allocate(65'536);
  EXPECT_EQ(committed_bytes(), 131'072u);
}

TEST_F(Bump, AlignsBlocks) {
  allocate(1);
  EXPECT_EQ(allocate(1, 4096), kModelBase + 4096);
}

TEST(BlockSizes, AgreesWithAMap) {
  tests::SeededRandom random;
  BlockSizes sizes;
  std::map<uint64_t, uint64_t> expected;
  for (int i = 0; i < 50'000; ++i) {
    const uint64_t address = 16 * (1 + random.below(5000));
    if (expected.erase(address) != 0) {
      sizes.erase(address);
    } else {
      sizes.insert(address, expected[address] = random.next());
    }
  }
  for (const auto& [address, bytes] : expected) EXPECT_EQ(sizes.get(address), bytes);
}

}  // namespace
}  // namespace heaptape::allocators::textbook
