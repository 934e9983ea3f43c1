#include "allocators/plugin/heap_checks.h"

#include <gtest/gtest.h>

#include "tests/support/sizes.h"

namespace heaptape::allocators {
namespace {

constexpr uint64_t kHeapBase = 0x100000000000;
constexpr uint64_t kPage = 4096;
using tests::kMiB;

AddressRange pages(uint64_t first, uint64_t count) {
  return {kHeapBase + first * kPage, kHeapBase + (first + count) * kPage};
}

// A heap with 16 pages and one block: 100 bytes at the beginning of the second page.
class HeapChecksTest : public testing::Test {
 protected:
  HeapChecksTest() {
    EXPECT_TRUE(checks_.commit(pages(0, 16)));
    EXPECT_TRUE(checks_.place({kHeapBase + kPage, 100}, 100, 0));
  }
  bool place(uint64_t offset, uint64_t usable_bytes, uint64_t alignment = 0) {
    return checks_.place({kHeapBase + offset, usable_bytes}, 0, alignment);
  }

  HeapChecks checks_{4, {kHeapBase, kHeapBase + 1024 * kMiB}, HeapChecks::Blocks::kChecked};
};

TEST_F(HeapChecksTest, TakesBlocksThatTouch) {
  EXPECT_TRUE(place(kPage + 112, 16));
  EXPECT_TRUE(place(kPage - 16, 16));
  EXPECT_EQ(checks_.live_blocks(), 3u);
}

// 256 bytes fill their granules to the last byte.
TEST_F(HeapChecksTest, TakesABlockThatEndsWhereOneBeginsAndBeginsWhereOneEnds) {
  EXPECT_TRUE(place(3 * kPage, 256));
  EXPECT_TRUE(place(3 * kPage - 256, 256));
  EXPECT_TRUE(place(3 * kPage + 256, 256));
}

TEST_F(HeapChecksTest, FindsOneByteOfABlockInTheNext) {
  EXPECT_TRUE(place(3 * kPage, 256));
  EXPECT_FALSE(place(3 * kPage - 256, 257));
}

TEST_F(HeapChecksTest, FindsTheLastByteOfABlockInTheNext) {
  EXPECT_TRUE(place(3 * kPage, 257));
  EXPECT_FALSE(place(3 * kPage + 256, 256));
}

TEST_F(HeapChecksTest, FindsABlockWithinAnother) {
  EXPECT_FALSE(place(kPage + 16, 16));
  EXPECT_EQ(checks_.fault(),
            "placed a block of 16 usable bytes at 0x100000001010, over the live block at "
            "0x100000001000 to 0x100000001070");
}

TEST_F(HeapChecksTest, FindsABlockAroundAnother) {
  EXPECT_FALSE(place(0, 3 * kPage));
}

TEST_F(HeapChecksTest, FindsABlockOverTheBeginningOfAnother) {
  EXPECT_FALSE(place(kPage - 16, 17));
}

TEST_F(HeapChecksTest, FindsABlockInTheLastGranuleOfAnother) {
  EXPECT_FALSE(place(kPage + 96, 16));
}

TEST_F(HeapChecksTest, FindsTheSameBlockTwice) {
  EXPECT_FALSE(place(kPage, 100));
}

TEST_F(HeapChecksTest, GivesABlockOfNoBytesAGranuleOfItsOwn) {
  EXPECT_TRUE(place(0, 0));
  EXPECT_FALSE(place(0, 0));
}

TEST_F(HeapChecksTest, TakesABlockWhereAnotherWas) {
  EXPECT_EQ(checks_.take(kHeapBase + kPage).begin, kHeapBase + kPage);
  EXPECT_EQ(checks_.live_blocks(), 0u);
  EXPECT_TRUE(place(0, 16 * kPage));
}

TEST_F(HeapChecksTest, FindsOverlapsOfBlocksThatSpanLeavesOfTheMap) {
  EXPECT_TRUE(checks_.commit({kHeapBase + 64 * kMiB, kHeapBase + 512 * kMiB}));
  EXPECT_TRUE(place(100 * kMiB, 300 * kMiB));
  EXPECT_TRUE(place(64 * kMiB, 36 * kMiB));
  EXPECT_FALSE(place(200 * kMiB, 16));
}

TEST_F(HeapChecksTest, FreesWhatABlockThatSpanLeavesHad) {
  EXPECT_TRUE(checks_.commit({kHeapBase + 64 * kMiB, kHeapBase + 512 * kMiB}));
  EXPECT_TRUE(place(100 * kMiB, 300 * kMiB));
  EXPECT_EQ(checks_.take(kHeapBase + 100 * kMiB).bytes(), 300 * kMiB);
  EXPECT_TRUE(place(200 * kMiB, 16));
}

TEST_F(HeapChecksTest, FindsABlockBeyondCommittedMemory) {
  EXPECT_FALSE(place(15 * kPage, kPage + 1));
  EXPECT_EQ(checks_.fault(),
            "placed a block of 4097 usable bytes at 0x10000000f000, not all of which is committed");
}

TEST_F(HeapChecksTest, FindsABlockThatBeginsInNoMemory) {
  EXPECT_FALSE(place(16 * kPage, 0));
  EXPECT_EQ(checks_.fault(),
            "placed a block of 0 usable bytes at 0x100000010000, not all of which is committed");
}

TEST_F(HeapChecksTest, FindsAddressesBeyondAll) {
  EXPECT_FALSE(checks_.place({UINT64_MAX - 15, 16}, 16, 0));
}

TEST_F(HeapChecksTest, FindsUsableBytesThatWrapAround) {
  EXPECT_FALSE(place(0, UINT64_MAX));
}

TEST_F(HeapChecksTest, TakesABlockAcrossTwoCommits) {
  EXPECT_TRUE(checks_.commit(pages(16, 1)));
  EXPECT_TRUE(place(15 * kPage, 2 * kPage));
}

TEST_F(HeapChecksTest, FindsABlockThatIsTooShort) {
  EXPECT_FALSE(checks_.place({kHeapBase, 15}, 16, 0));
  EXPECT_EQ(checks_.fault(),
            "placed a block of 15 usable bytes at 0x100000000000 for a request of 16");
}

TEST_F(HeapChecksTest, FindsABlockOffItsGranule) {
  EXPECT_FALSE(place(8, 8));
  EXPECT_EQ(checks_.fault(),
            "placed a block of 8 usable bytes at 0x100000000008, which is not a multiple of 16");
}

TEST_F(HeapChecksTest, FindsABlockOffItsAlignment) {
  EXPECT_TRUE(place(2 * kPage, 8, 2 * kPage));
  EXPECT_FALSE(place(3 * kPage, 8, 2 * kPage));
}

TEST_F(HeapChecksTest, FindsMemoryCommittedTwice) {
  EXPECT_FALSE(checks_.commit(pages(15, 2)));
  EXPECT_EQ(checks_.fault(),
            "committed 0x10000000f000 to 0x100000011000, some of which is committed already");
}

TEST_F(HeapChecksTest, TakesMemoryThatTouchesWhatIsCommitted) {
  EXPECT_TRUE(checks_.commit(pages(16, 4)));
  EXPECT_TRUE(checks_.commit(pages(24, 4)));
  EXPECT_TRUE(checks_.commit(pages(20, 4)));
}

TEST_F(HeapChecksTest, FindsTheLastPageOfACommitInTheNext) {
  EXPECT_TRUE(checks_.commit(pages(24, 4)));
  EXPECT_FALSE(checks_.commit(pages(20, 5)));
}

TEST_F(HeapChecksTest, FindsMemoryOutsideOfTheWindow) {
  EXPECT_FALSE(checks_.commit({kHeapBase - kPage, kHeapBase}));
  EXPECT_EQ(checks_.fault(),
            "committed 0xffffffff000 to 0x100000000000, which lies outside of the window "
            "0x100000000000 to 0x100040000000");
}

TEST_F(HeapChecksTest, TakesMemoryUpToTheEndOfTheWindow) {
  EXPECT_TRUE(checks_.commit({kHeapBase + 1024 * kMiB - kPage, kHeapBase + 1024 * kMiB}));
}

TEST_F(HeapChecksTest, FindsPartsOfPages) {
  EXPECT_FALSE(checks_.commit({kHeapBase + 20 * kPage, kHeapBase + 20 * kPage + 8}));
  EXPECT_EQ(checks_.fault(),
            "committed 0x100000014000 to 0x100000014008, which are not whole pages of 4096 bytes");
}

TEST_F(HeapChecksTest, FindsEmptyRanges) {
  EXPECT_FALSE(checks_.decommit({kHeapBase, kHeapBase}));
  EXPECT_EQ(checks_.fault(), "decommitted 0x100000000000 to 0x100000000000, which is empty");
}

TEST_F(HeapChecksTest, FindsMemoryGivenBackThatWasNotTaken) {
  EXPECT_FALSE(checks_.decommit(pages(15, 2)));
  EXPECT_EQ(checks_.fault(),
            "decommitted 0x10000000f000 to 0x100000011000, not all of which is committed");
}

TEST_F(HeapChecksTest, FindsMemoryGivenBackUnderABlock) {
  EXPECT_TRUE(checks_.decommit(pages(2, 14)));
  EXPECT_FALSE(checks_.decommit(pages(0, 2)));
  EXPECT_EQ(checks_.fault(),
            "decommitted 0x100000000000 to 0x100000002000 under the live block at "
            "0x100000001000 to 0x100000001070");
}

TEST_F(HeapChecksTest, FindsMemoryGivenBackInTheMiddleOfABlock) {
  EXPECT_TRUE(place(4 * kPage, 3 * kPage));
  EXPECT_FALSE(checks_.decommit(pages(5, 1)));
}

TEST_F(HeapChecksTest, PutsABlockBackThatWasNotResized) {
  EXPECT_TRUE(checks_.put_back(checks_.take(kHeapBase + kPage)));
  EXPECT_FALSE(place(kPage, 16));
}

TEST_F(HeapChecksTest, FindsABlockWithoutMemoryWhenItIsPutBack) {
  const AddressRange block = checks_.take(kHeapBase + kPage);
  EXPECT_TRUE(checks_.decommit(pages(1, 1)));
  EXPECT_FALSE(checks_.put_back(block));
  EXPECT_EQ(checks_.fault(),
            "refused to resize the live block at 0x100000001000 to 0x100000001070, but "
            "decommitted its memory");
}

TEST_F(HeapChecksTest, TakesStretchesThatAreAbsent) {
  const AddressRange ranges[] = {pages(0, 1), pages(2, 1), pages(3, 4)};
  EXPECT_TRUE(checks_.absent(ranges));
}

TEST_F(HeapChecksTest, FindsABlockInAnAbsentStretch) {
  const AddressRange ranges[] = {pages(0, 2)};
  EXPECT_FALSE(checks_.absent(ranges));
  EXPECT_EQ(checks_.fault(),
            "called 0x100000000000 to 0x100000002000 absent, where the live block at "
            "0x100000001000 to 0x100000001070 is");
}

TEST_F(HeapChecksTest, FindsAbsentStretchesThatAreNotAscending) {
  const AddressRange ranges[] = {pages(3, 2), pages(4, 1)};
  EXPECT_FALSE(checks_.absent(ranges));
}

TEST_F(HeapChecksTest, KeepsTheFirstFault) {
  EXPECT_FALSE(checks_.fail("one"));
  EXPECT_FALSE(checks_.commit(pages(100, 1)));
  EXPECT_FALSE(checks_.fail("two"));
  EXPECT_EQ(checks_.fault(), "one");
}

TEST(BelievedHeap, CountsBlocksWhereverTheyAre) {
  HeapChecks checks(4, {kHeapBase, kHeapBase + kMiB}, HeapChecks::Blocks::kBelieved);
  EXPECT_TRUE(checks.place({8, 8}, 100, 0));
  EXPECT_TRUE(checks.place({8, 8}, 100, 0));
  EXPECT_TRUE(checks.put_back(checks.take(8)));
  EXPECT_EQ(checks.live_blocks(), 2u);
}

TEST(BelievedHeap, StillHasItsMemoryChecked) {
  HeapChecks checks(4, {kHeapBase, kHeapBase + kMiB}, HeapChecks::Blocks::kBelieved);
  EXPECT_TRUE(checks.commit(pages(0, 1)));
  EXPECT_FALSE(checks.commit(pages(0, 1)));
}

}  // namespace
}  // namespace heaptape::allocators
