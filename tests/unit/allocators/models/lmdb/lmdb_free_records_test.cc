// The records of free pages by themselves: what is found after each thing that changes them.
#include <gtest/gtest.h>

#include "allocators/models/lmdb/free_records.h"

namespace heaptape::allocators::lmdb {
namespace {

constexpr LmdbPage kFirst = 100;
constexpr uint32_t kPages = 3 * kLmdbRecordIds;

// One run of pages that an earlier transaction loaded and rewrote, so that all of it is pooled, in
// records of which none is loaded.
class PooledRecords : public testing::Test {
 protected:
  PooledRecords() {
    commit(6, {{kFirst, kPages}});
    EXPECT_TRUE(records_.load(7, kPages));
    commit(7, {});
    EXPECT_EQ(records_.loaded(), 0u);
    EXPECT_EQ(records_.total(), kPages);
  }
  void commit(uint64_t txn, std::vector<LmdbRun> freed) { records_.commit(txn, freed); }
  LmdbPage found(uint32_t pages) {
    const auto place = records_.find(pages);
    return place ? place->first : 0;
  }

  FreeRecords records_;
};

TEST_F(PooledRecords, AreNotFoundBeforeTheyAreLoaded) {
  EXPECT_EQ(found(2), 0u);
  ASSERT_TRUE(records_.load(8, 1));
  EXPECT_EQ(found(2), kFirst);
}

TEST_F(PooledRecords, AreNotFoundWhereTheyWereSkipped) {
  EXPECT_EQ(found(2), 0u);
  const uint64_t total = records_.total();
  records_.skip(8);
  const uint64_t skipped = total - records_.total();
  ASSERT_GT(skipped, 0u);
  ASSERT_TRUE(records_.load(8, 1));
  EXPECT_EQ(found(2), kFirst + skipped);
}

TEST_F(PooledRecords, AreNotFoundTwice) {
  ASSERT_TRUE(records_.load(8, 1));
  const auto place = records_.find(2);
  ASSERT_TRUE(place);
  records_.take(*place, 2);
  EXPECT_EQ(found(2), kFirst + 2);
}

TEST_F(PooledRecords, ComeBehindLowerPagesThatAreFreedLater) {
  commit(8, {{10, 2}});
  while (records_.load(9, kPages)) {
    if (records_.loaded() == records_.total() - 2) {
      EXPECT_EQ(found(2), kFirst);
    }
  }
  EXPECT_EQ(found(2), 10u);
}

}  // namespace
}  // namespace heaptape::allocators::lmdb
