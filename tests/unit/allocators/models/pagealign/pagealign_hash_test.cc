// The hash map of pagealign_alloc: what it probes, and how it grows.
#include <gtest/gtest.h>

#include "allocators/models/pagealign/pagealign_model.h"
#include "tests/support/model_heap.h"

namespace heaptape::allocators::pagealign {
namespace {

TEST(BucketCounts, AreTheFirstPrimesAfterThePowersOf1Point2) {
  std::vector<uint64_t> series;
  for (uint64_t least = 0; series.size() < 14; least = series.back() + 1) {
    series.push_back(next_bucket_count(least));
  }
  EXPECT_EQ(series,
            (std::vector<uint64_t>{11, 13, 17, 19, 23, 29, 37, 41, 47, 59, 67, 83, 97, 127}));
}

TEST(BucketCounts, AreAtLeastWhatIsAskedFor) {
  EXPECT_EQ(next_bucket_count(12), 13u);
  EXPECT_EQ(next_bucket_count(13), 13u);
  EXPECT_EQ(next_bucket_count(723'468), 868'151u);
  EXPECT_EQ(next_bucket_count(868'151), 868'151u);
}

class PagealignHashMap : public testing::Test, protected tests::ModelHeap<PagealignHash> {
 protected:
  PagealignHashMap() : ModelHeap({"base=runs"}) {}

  uint64_t page() { return allocate(kPageBytes, kPageBytes); }
  uint64_t probes_of_free(uint64_t address) {
    const uint64_t before = counter("hashProbes");
    release(address);
    return counter("hashProbes") - before;
  }
};

TEST_F(PagealignHashMap, BeginsWithItsFirstBlock) {
  EXPECT_EQ(counter("hashBuckets"), 0u);
  page();
  EXPECT_EQ(counter("hashBuckets"), 11u);
  EXPECT_EQ(counter("hashResizes"), 0u);
}

// 7 + 3 = 10 still fit 11 buckets; 8 + 4 = 12 do not.
TEST_F(PagealignHashMap, GrowsWhenOneAndAHalfTimesItsNodesAreMoreThanItsBuckets) {
  for (int i = 0; i < 7; ++i) page();
  EXPECT_EQ(counter("hashBuckets"), 11u);
  page();
  EXPECT_EQ(counter("hashBuckets"), 13u);
  EXPECT_EQ(counter("hashResizes"), 1u);
  EXPECT_EQ(counter("hashMoves"), 8u);
}

TEST_F(PagealignHashMap, NeverShrinks) {
  std::vector<uint64_t> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(page());
  const uint64_t buckets = counter("hashBuckets");
  release_all(blocks);
  EXPECT_EQ(counter("hashBuckets"), buckets);
  EXPECT_EQ(counter("nodeBytes"), 0u);
}

// Blocks 11 pages apart share a bucket of 11: 4096 and 11 have no common factor.
TEST_F(PagealignHashMap, ProbesTheChainFromTheNewestNode) {
  const uint64_t first = page();
  allocate(10 * kPageBytes, kPageBytes);
  const uint64_t second = page();
  EXPECT_EQ(counter("hashProbes"), 1u);
  EXPECT_EQ(probes_of_free(first), 2u);
  EXPECT_EQ(probes_of_free(second), 1u);
}

TEST_F(PagealignHashMap, TakesItsTableFromTheBase) {
  for (int i = 0; i < 4000; ++i) page();
  const uint64_t node_runs = (4000 + 125) / 126;  // of 126 regions of 32 bytes
  EXPECT_GT(counter("base.runsCreated"), node_runs + 1);
  EXPECT_GT(counter("base.dirtyPages") + counter("base.pagesPurged"), 0u);  // old tables
}

TEST(PagealignHashFacts, For524288Blocks) {
  AddressSpace space;
  PagealignHash model(space, base::Values(PagealignHash::parameters()));
  for (int i = 0; i < 524'288; ++i) model.allocate(kPageBytes, kPageBytes);
  std::map<std::string, uint64_t> counters;
  for (const Counter& counter : model.counters()) counters[counter.name] = counter.value;
  EXPECT_EQ(counters["hashResizes"], 62u);
  EXPECT_EQ(counters["hashMoves"], 2'894'066u);
  EXPECT_EQ(counters["hashBuckets"], 868'151u);
  EXPECT_EQ(counters["nodeBytes"], 524'288u * 32);
}

}  // namespace
}  // namespace heaptape::allocators::pagealign
