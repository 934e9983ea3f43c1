// model:buddy by hand, mostly on largest blocks of 4 KiB.
#include <gtest/gtest.h>

#include "allocators/models/textbook/buddy_heap.h"
#include "tests/support/model_heap.h"

namespace heaptape::allocators::textbook {
namespace {

class Buddies : public testing::Test, protected tests::ModelHeap<BuddyModel> {
 protected:
  explicit Buddies(const std::vector<std::string>& options = {"max_order=12"})
      : ModelHeap(options) {}
  // From the beginning of the heap.
  uint64_t place(uint64_t bytes, uint64_t alignment = 0) {
    return allocate(bytes, alignment) - kModelBase;
  }
  void free(uint64_t offset) { release(kModelBase + offset); }
};

TEST_F(Buddies, AreSplitInHalvesDownToTheRequest) {
  EXPECT_EQ(place(100), 0u);
  EXPECT_EQ(usable(kModelBase), 128u);
  EXPECT_EQ(counter("splits"), 5u);
  EXPECT_EQ(committed_bytes(), 4096u);
}

TEST_F(Buddies, ServeARequestFromTheSmallestBlockThatHasTheRoom) {
  place(100);
  EXPECT_EQ(place(1000), 1024u);
  EXPECT_EQ(place(128), 128u);
  EXPECT_EQ(place(60), 256u);
  EXPECT_EQ(counter("splits"), 5u + 2);
}

TEST_F(Buddies, RoundUpToTheNextPowerOfTwo) {
  for (const uint64_t bytes : {0u, 1u, 16u}) EXPECT_EQ(usable(allocate(bytes)), 16u);
  EXPECT_EQ(usable(allocate(17)), 32u);
  EXPECT_EQ(usable(allocate(1025)), 2048u);
}

TEST_F(Buddies, JoinAllTheWayUp) {
  place(100);
  free(0);
  EXPECT_EQ(counter("merges"), 5u);
  EXPECT_EQ(place(4096), 0u);
}

TEST_F(Buddies, DoNotJoinANeighbourThatIsNoBuddy) {
  for (int i = 0; i < 4; ++i) place(1024);
  free(1024);
  free(2048);
  EXPECT_EQ(counter("merges"), 0u);
  EXPECT_EQ(place(2048), 4096u);
}

TEST_F(Buddies, DoNotJoinABuddyThatIsSplit) {
  place(1024);
  place(512);
  place(512);
  free(0);
  free(1024);
  EXPECT_EQ(counter("merges"), 0u);
  free(1536);
  EXPECT_EQ(counter("merges"), 3u);
}

TEST_F(Buddies, AreUsedAgainLastInFirstOut) {
  for (int i = 0; i < 4; ++i) place(1024);
  free(0);
  free(2048);
  EXPECT_EQ(place(1024), 2048u);
  EXPECT_EQ(place(1024), 0u);
}

TEST_F(Buddies, AreAsAlignedAsTheyAreLarge) {
  place(16);
  EXPECT_EQ(place(100, 1024), 1024u);
  EXPECT_EQ(usable(kModelBase + 1024), 1024u);
}

TEST_F(Buddies, GrowTheHeapByLargestBlocks) {
  EXPECT_EQ(place(4096), 0u);
  EXPECT_EQ(place(2049), 4096u);
  EXPECT_EQ(committed_bytes(), 8192u);
  EXPECT_EQ(counter("heapGrows"), 2u);
}

TEST_F(Buddies, BeyondTheLargestOrderAreRunsOfLargestBlocks) {
  EXPECT_EQ(place(10'000), 0u);
  EXPECT_EQ(usable(kModelBase), 12'288u);
  free(0);
  EXPECT_EQ(place(4096), 0u);
  EXPECT_EQ(place(8192), 4096u);
  EXPECT_EQ(committed_bytes(), 12'288u);
}

TEST_F(Buddies, CanBeAlignedBeyondTheLargestOrder) {
  place(100);
  EXPECT_EQ(place(100, 65536), 65536u);
}

TEST_F(Buddies, StayWhenTheirOrderDoes) {
  const uint64_t block = allocate(100);
  EXPECT_EQ(reallocate(block, 128), block);
  EXPECT_EQ(reallocate(block, 65), block);
  EXPECT_EQ(reallocate(block, 64), block + 128);
  EXPECT_EQ(counter("resizesInPlace"), 2u);
  EXPECT_EQ(counter("bytesCopied"), 64u);
}

TEST_F(Buddies, InARunGrowIntoTheRunBehind) {
  const uint64_t run = allocate(8192);
  release(allocate(8192));
  EXPECT_EQ(reallocate(run, 12'288), run);
  EXPECT_EQ(reallocate(run, 20'000), run + 12'288);
}

TEST_F(Buddies, SayThatNoneIsFreeToBeSplit) {
  place(100);
  EXPECT_EQ(rules(),
            "no block of 128 bytes or more is free to be split: the heap grows by a largest one, "
            "4,096 bytes");
}

TEST_F(Buddies, SayThatNoRunIsFreeForALargeBlock) {
  place(10'000);
  EXPECT_EQ(rules(),
            "above 4,096 bytes a block is a run of largest ones, and no free run has 12,288 bytes: "
            "the heap grows");
}

class MegabyteBuddies : public Buddies {
 protected:
  MegabyteBuddies() : Buddies({"trim=1MiB", "min_order=6"}) {}
};

TEST_F(MegabyteBuddies, GoBackFromTheTopWhenTheyAreWhole) {
  const auto blocks = allocate_many(100, 100'000);
  EXPECT_EQ(committed_bytes(), 13u << 20);
  release_all(blocks);
  EXPECT_EQ(committed_bytes(), 0u);
}

TEST_F(MegabyteBuddies, AreNeverSmallerThanTheLeastOrder) {
  EXPECT_EQ(usable(allocate(1)), 64u);
}

}  // namespace
}  // namespace heaptape::allocators::textbook
