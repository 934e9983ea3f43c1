// Which pages of model:slabs have contents.
#include <gtest/gtest.h>

#include "allocators/models/slabs/slabs_model.h"
#include "allocators/models/slabs/written_pages.h"
#include "tests/support/model_heap.h"
#include "tests/support/tapes.h"

namespace heaptape::allocators {
namespace {

using slabs::WrittenPages;

constexpr uint64_t kChunk = 1 << 14;  // pages that WrittenPages keeps as one where they are alike

// The pages from `first` up to `end` that were written to, as text: "3-5 9-9 ".
std::string runs(const WrittenPages& pages, uint64_t first, uint64_t end) {
  std::string text;
  for (uint64_t page = pages.next_written(first, end); page < end;) {
    const uint64_t behind = pages.next_unwritten(page, end);
    text += std::to_string(page) + "-" + std::to_string(behind - 1) + " ";
    page = pages.next_written(behind, end);
  }
  return text;
}

class WrittenPagesTest : public testing::Test {
 protected:
  WrittenPagesTest() { pages_.extend_to(5 * kChunk); }
  std::string all() const { return runs(pages_, 0, 5 * kChunk); }

  WrittenPages pages_;
};

TEST_F(WrittenPagesTest, AreNoneAtFirst) {
  EXPECT_EQ(all(), "");
}

TEST_F(WrittenPagesTest, AreThoseThatWereWritten) {
  pages_.write(3, 3);
  pages_.write(5, 130);
  pages_.write(5, 5);
  EXPECT_EQ(all(), "3-3 5-130 ");
  EXPECT_EQ(runs(pages_, 4, 100), "5-99 ");
}

TEST_F(WrittenPagesTest, ArePurgedOneByOne) {
  pages_.write(0, 200);
  pages_.purge(64, 127);
  pages_.purge(3, 3);
  EXPECT_EQ(all(), "0-2 4-63 128-200 ");
}

TEST_F(WrittenPagesTest, AreWrittenAcrossWholeChunks) {
  pages_.write(kChunk - 1, 4 * kChunk);
  EXPECT_EQ(all(), "16383-65536 ");
  pages_.write(2 * kChunk, 2 * kChunk);
  pages_.purge(2 * kChunk + 1, 2 * kChunk + 1);
  EXPECT_EQ(all(), "16383-32768 32770-65536 ");
  pages_.purge(0, 5 * kChunk - 1);
  EXPECT_EQ(all(), "");
}

TEST_F(WrittenPagesTest, AgreeWithAPlainListOfThem) {
  tests::Random random(7);
  std::vector<bool> expected(3 * kChunk);
  for (int i = 0; i < 300; ++i) {
    const uint64_t first = random.below(expected.size());
    const uint64_t last = std::min<uint64_t>(first + random.below(i % 10 == 0 ? 2 * kChunk : 200),
                                             expected.size() - 1);
    const bool is_write = random.below(2) == 0;
    is_write ? pages_.write(first, last) : pages_.purge(first, last);
    for (uint64_t page = first; page <= last; ++page) expected[page] = is_write;
  }
  for (uint64_t page = 0; page < expected.size(); ++page) {
    ASSERT_EQ(pages_.next_written(page, page + 1) == page, expected[page]) << page;
  }
}

class SlabsModelPages : public testing::Test, protected tests::ModelHeap<SlabsModel> {
 protected:
  static constexpr uint64_t kPage = 4096;
};

TEST_F(SlabsModelPages, AreThoseThatTheProgramAskedFor) {
  const uint64_t block = allocate(5000, 4 * kPage);  // a class of 16 KiB
  EXPECT_EQ(absent_bytes(block, 2 * kPage), 0u);
  EXPECT_EQ(absent_bytes(block + 2 * kPage, 2 * kPage), 2 * kPage);
  check_absent();
}

TEST_F(SlabsModelPages, OfASlabComeWithItsRegions) {
  const uint64_t slab = allocate(3072) & ~(kPage - 1);  // 4 regions on 3 pages
  EXPECT_EQ(absent_bytes(slab, 3 * kPage), 2 * kPage);
  allocate_many(3, 3072);
  EXPECT_EQ(absent_bytes(slab, 3 * kPage), 0u);
}

TEST_F(SlabsModelPages, StayWithAFreedBlock) {
  const uint64_t block = allocate(5000, 4 * kPage);
  release(block);
  EXPECT_EQ(absent_bytes(block, 4 * kPage), 2 * kPage);
  EXPECT_EQ(allocate(16384), block) << "from the thread's cache";
  EXPECT_EQ(absent_bytes(block, 4 * kPage), 0u);
}

TEST_F(SlabsModelPages, ComeWithABlockThatGrowsInPlace) {
  const uint64_t block = allocate(16384, kPage);
  EXPECT_EQ(reallocate(block, 40000), block);
  EXPECT_EQ(absent_bytes(block, 40000 / kPage * kPage), 0u);
}

TEST_F(SlabsModelPages, OfAHugeBlockAreAllWritten) {
  const uint64_t block = allocate(uint64_t{1} << 44);
  ASSERT_NE(block, 0u);
  EXPECT_LT(absent_bytes(block, uint64_t{1} << 44), kPage);
}

}  // namespace
}  // namespace heaptape::allocators
