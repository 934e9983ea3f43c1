// model:segregated by hand.
#include <gtest/gtest.h>

#include "allocators/models/textbook/segregated_heap.h"
#include "tests/support/model_heap.h"

namespace heaptape::allocators::textbook {
namespace {

constexpr uint64_t kPage = 65536;

class Segregated : public testing::Test, protected tests::ModelHeap<SegregatedModel> {
 protected:
  explicit Segregated(const std::vector<std::string>& options = {}) : ModelHeap(options) {}
  // From the beginning of the heap.
  uint64_t place(uint64_t bytes, uint64_t alignment = 0) {
    return allocate(bytes, alignment) - kModelBase;
  }
  void free(uint64_t offset) { release(kModelBase + offset); }
};

TEST_F(Segregated, SaysThatNoBlockOfTheClassIsFreeNorAPage) {
  place(100);
  EXPECT_EQ(rules(),
            "no block of 112 bytes is free, nor a page of 65,536 bytes to cut up: the heap "
            "grows");
}

TEST_F(Segregated, SaysThatNoPagesAreFreeForALargeBlock) {
  allocate(2'000'000);
  EXPECT_EQ(rules(),
            "above 32,768 bytes a block has pages of its own, and no free ones serve for 2,031,616 "
            "bytes: the heap grows");
}

TEST(SizeClasses, AreFourToADoubling) {
  std::vector<uint64_t> sizes;
  for (uint32_t i = 0; i < 14; ++i) sizes.push_back(size_class_bytes(i));
  EXPECT_EQ(sizes, (std::vector<uint64_t>{16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320,
                                          384}));
}

TEST(SizeClasses, HoldEverySizeInTheSmallestClassThatHasTheRoom) {
  for (uint64_t bytes = 0; bytes < 100'000; ++bytes) {
    const uint32_t size_class = size_class_of(bytes);
    ASSERT_GE(size_class_bytes(size_class), bytes);
    ASSERT_TRUE(size_class == 0 || size_class_bytes(size_class - 1) < bytes) << bytes;
  }
}

TEST_F(Segregated, GivesEachClassAPageOfItsOwn) {
  EXPECT_EQ(place(100), 0u);
  EXPECT_EQ(place(100), 112u);
  EXPECT_EQ(place(200), kPage);
  EXPECT_EQ(place(112), 224u);
  EXPECT_EQ(counter("pagesClaimed"), 2u);
}

TEST_F(Segregated, ThreadsAPageAtOnce) {
  place(100);
  EXPECT_EQ(counter("blocksThreaded"), kPage / 112);
  allocate_many(kPage / 112, 100);
  EXPECT_EQ(counter("blocksThreaded"), 2 * (kPage / 112));
}

TEST_F(Segregated, UsesBlocksAgainLastInFirstOut) {
  for (int i = 0; i < 4; ++i) place(100);
  free(0);
  free(224);
  EXPECT_EQ(place(100), 224u);
  EXPECT_EQ(place(100), 0u);
  EXPECT_EQ(place(100), 448u);
}

TEST_F(Segregated, NeverGivesAPageToAnotherClass) {
  release_all(allocate_many(kPage / 16, 16));
  EXPECT_EQ(place(32), kPage);
}

TEST_F(Segregated, PutsBlocksOfMoreThanHalfAPageOnWholePages) {
  EXPECT_EQ(usable(allocate(32768)), 32768u);
  EXPECT_EQ(usable(allocate(32769)), kPage);
  EXPECT_EQ(usable(allocate(3 * kPage + 1)), 4 * kPage);
}

TEST_F(Segregated, PlacesLargeBlocksByBestFit) {
  const auto blocks = allocate_many(4, 2 * kPage);
  place(7 * kPage);
  release_all({blocks[0], blocks[1], blocks[3]});
  EXPECT_EQ(allocate(2 * kPage), blocks[3]);
  EXPECT_EQ(allocate(kPage), kModelBase + 15 * kPage);
}

TEST_F(Segregated, GivesFreedLargePagesToClasses) {
  free(place(16 * kPage));
  EXPECT_EQ(place(16), 0u);
  EXPECT_EQ(committed_bytes(), 16 * kPage);
}

TEST_F(Segregated, AlignsBlocksByTheirClass) {
  place(16);
  EXPECT_EQ(place(100, 64) % 128, 0u);
  EXPECT_EQ(usable(kModelBase + kPage), 128u);
  EXPECT_EQ(place(10, 4 * kPage) % (4 * kPage), 0u);
}

TEST_F(Segregated, KeepsABlockWhoseClassStays) {
  const uint64_t block = allocate(100);
  EXPECT_EQ(reallocate(block, 112), block);
  EXPECT_NE(reallocate(block, 113), block);
  EXPECT_EQ(counter("bytesCopied"), 112u);
}

TEST_F(Segregated, ResizesLargeBlocksWhereThePagesAllow) {
  const uint64_t block = allocate(4 * kPage);
  EXPECT_EQ(reallocate(block, 12 * kPage), block);
  EXPECT_EQ(reallocate(block, 2 * kPage), block);
  EXPECT_EQ(allocate(kPage), block + 2 * kPage);
  EXPECT_NE(reallocate(block, 3 * kPage), block);
}

class SegregatedWithTrim : public Segregated {
 protected:
  SegregatedWithTrim() : Segregated({"page_bytes=4096", "grow_bytes=4096", "trim=64KiB"}) {}
};

TEST_F(SegregatedWithTrim, GivesFreePagesAtTheEndBack) {
  place(5000);
  const uint64_t small = place(60'000);
  EXPECT_EQ(small, 8192u);
  free(small);
  EXPECT_EQ(committed_bytes(), 8192u + 61'440);
  free(place(70'000));
  EXPECT_EQ(committed_bytes(), 8192u);
}

}  // namespace
}  // namespace heaptape::allocators::textbook
