// The page allocator of model:lmdb: search, loading, commit and the variants. A little over 300
// lines, because one fixture serves all of them.
#include <gtest/gtest.h>

#include "allocators/models/lmdb/page_allocator.h"
#include "replayer/metrics/growth.h"

namespace heaptape::allocators::lmdb {
namespace {

// A file in which chosen pages are free, as of chosen transactions.
class LmdbFile : public testing::Test {
 protected:
  explicit LmdbFile(const LmdbPageAllocator::Options& options = {}) : db_(options) {}

  // Puts pages into the file; the first is page 2. Ends transaction 1.
  void make_file(uint64_t pages) {
    db_.allocate(pages);
    db_.commit();
  }
  // One transaction that frees them.
  void free(std::initializer_list<LmdbRun> runs) {
    for (const LmdbRun& run : runs) db_.release(run);
    db_.commit();
  }
  // Every second page from `first` on, `count` of them, in one transaction.
  void free_every_second(LmdbPage first, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) db_.release({first + 2 * i, 1});
    db_.commit();
  }
  // In each transaction, 509 more pages become free, none beside another, and 20 in a row are asked
  // for.
  void ask_again_and_again(uint32_t transactions) {
    make_file(transactions * 2 * kLmdbRecordIds);
    for (uint32_t i = 0; i < transactions; ++i) {
      db_.allocate(20);
      free_every_second(LmdbPageAllocator::kFirstPage + i * 2 * kLmdbRecordIds, kLmdbRecordIds);
    }
  }
  void free_three_runs() {
    make_file(100);
    free({{50, 4}, {30, 3}, {10, 2}});
    pass(1);
  }
  void free_nine_pages() {
    make_file(100);
    free_every_second(10, 9);
    pass(1);
  }
  void pass(int transactions) {
    for (int i = 0; i < transactions; ++i) {
      db_.touch();
      db_.commit();
    }
  }
  const LmdbPageAllocator::Counts& counts() const { return db_.counts(); }
  const FreeRecords::Counts& records() const { return db_.record_counts(); }

  LmdbPageAllocator db_;
};

TEST_F(LmdbFile, TakesTheLowestRunThatIsLongEnough) {
  free_three_runs();
  EXPECT_EQ(db_.allocate(3), 30u);
  EXPECT_EQ(db_.allocate(3), 50u);
  EXPECT_EQ(db_.allocate(1), 10u);
}

TEST_F(LmdbFile, ComparesUpToTheHit) {
  free_three_runs();
  db_.allocate(4);
  EXPECT_EQ(counts().search_cmps, 6u);
}

TEST_F(LmdbFile, MovesTheEntriesBelowARunThatItTakes) {
  free_three_runs();
  db_.allocate(4);
  EXPECT_EQ(counts().straggler_moves, 5u);
}

TEST_F(LmdbFile, ComparesEveryEntryThatCouldBeginARunBeforeItFails) {
  free_nine_pages();
  EXPECT_EQ(db_.allocate(4), 102u);
  EXPECT_EQ(counts().search_cmps, 9 - 3u);
  EXPECT_EQ(counts().failed_searches, 1u);
}

TEST_F(LmdbFile, DoesNotSearchAListShorterThanTheRequest) {
  make_file(100);
  free_every_second(10, 3);
  pass(1);
  db_.allocate(4);
  EXPECT_EQ(counts().search_cmps, 0u);
  EXPECT_EQ(counts().failed_searches, 0u);
}

TEST_F(LmdbFile, FindsASinglePageAtTheFirstComparison) {
  free_nine_pages();
  EXPECT_EQ(db_.allocate(1), 10u);
  EXPECT_EQ(counts().search_cmps, 1u);
  EXPECT_EQ(counts().straggler_moves, 0u);
}

TEST_F(LmdbFile, LoadsTheOldestRecordFirstAndNoMoreThanItNeeds) {
  make_file(100);
  free({{50, 1}});
  free({{40, 1}});
  pass(1);
  EXPECT_EQ(db_.allocate(1), 50u);
  EXPECT_EQ(records().records_loaded, 1u);
}

TEST_F(LmdbFile, JoinsRunsOfDifferentRecords) {
  make_file(100);
  free({{50, 2}});
  free({{52, 2}});
  pass(1);
  EXPECT_EQ(db_.allocate(4), 50u);
}

TEST_F(LmdbFile, MovesTheWholeListToMergeHigherPages) {
  make_file(100);
  free_every_second(10, 5);
  free_every_second(40, 3);
  pass(1);
  db_.allocate(2);
  EXPECT_EQ(records().merge_moves, 5 + (5 + 3u));
}

TEST_F(LmdbFile, MovesOnlyWhatIsBelowTheNewPages) {
  make_file(100);
  free_every_second(40, 5);
  free_every_second(10, 3);
  pass(1);
  db_.allocate(2);
  EXPECT_EQ(records().merge_moves, 5 + 3u);
}

TEST_F(LmdbFile, GivesUpAfterSixtySearchesAPage) {
  make_file(1000);
  for (uint32_t i = 0; i < 200; ++i) free({{10 + 4 * i, 1}, {12 + 4 * i, 1}});
  pass(1);
  db_.allocate(2);
  EXPECT_EQ(counts().failed_searches, 121u);
  EXPECT_EQ(records().records_loaded, 121u);
  EXPECT_EQ(counts().retry_exhausted, 1u);
}

TEST_F(LmdbFile, BeginsEveryTransactionWithAnEmptyList) {
  free_nine_pages();
  db_.allocate(4);
  db_.commit();
  db_.allocate(4);
  EXPECT_EQ(records().records_loaded, 2u);
  EXPECT_EQ(counts().search_cmps, 2 * (9 - 3u));
}

TEST_F(LmdbFile, WritesWhatIsLeftInRecordsOfAPage) {
  make_file(5000);
  pass(10);
  free_every_second(10, 2000);  // under the key 12
  pass(1);
  db_.allocate(1);
  db_.commit();
  EXPECT_EQ(records().records_loaded, 1u);
  EXPECT_EQ(records().rewrite_pages, 4u);  // 509, 509, 509, 472
  db_.allocate(2);
  EXPECT_EQ(records().records_loaded, 1 + 4u);
  EXPECT_EQ(counts().search_cmps, 1 + 471 + (472 + 508) + (472 + 1017) + (472 + 1526u));
}

TEST_F(LmdbFile, WritesLongerRecordsWhereKeysRunShort) {
  make_file(5000);
  free_every_second(10, 2000);  // under the key 2: there are two
  pass(1);
  db_.allocate(2);
  db_.commit();
  EXPECT_EQ(records().rewrite_pages, 2 + 2u);  // 1,019 and 981
  db_.allocate(2);
  EXPECT_EQ(records().records_loaded, 1 + 2u);
}

TEST_F(LmdbFile, WritesNothingBackWhenNothingWasLoaded) {
  make_file(100);
  free_every_second(10, 9);
  db_.allocate(4);
  db_.commit();
  EXPECT_EQ(records().rewrite_pages, 0u);
}

TEST_F(LmdbFile, GrowsTheListsArrayByMoreThanItNeeds) {
  make_file(2000);
  free_every_second(10, 300);
  free_every_second(1000, 300);
  pass(1);
  db_.allocate(2);
  EXPECT_EQ(records().growths, 1u);
  EXPECT_EQ(records().capacity_max, 766u);  // (600 + 150 + 258) & -256, less 2
}

TEST_F(LmdbFile, TellsHowLongTheListBecame) {
  free_nine_pages();
  db_.allocate(1);
  EXPECT_EQ(records().longest, 9u);
  EXPECT_EQ(records().ids_loaded, 9u);
}

TEST_F(LmdbFile, TellsAllocationsApart) {
  make_file(100);
  free({{50, 4}});
  pass(1);
  for (const uint64_t pages : {1, 2, 3, 1, 1}) db_.allocate(pages);
  EXPECT_EQ(counts().from_freelist[0], 2u);
  EXPECT_EQ(counts().from_freelist[1], 1u);
  EXPECT_EQ(counts().extends[0], 1u);
  EXPECT_EQ(counts().extends[1], 1 + 1u);
}

TEST_F(LmdbFile, ShowsThatARequestGrowsWithTheSquareOfTheFreePages) {
  ask_again_and_again(500);
  EXPECT_NEAR(replayer::fit_growth(db_.growth()[1]).exponent, 2.0, 0.1);
}

struct LmdbF1File : LmdbFile {
  LmdbF1File() : LmdbFile({.variant = LmdbVariant::kF1}) {}
};

TEST_F(LmdbF1File, SearchesWhenTheListHasDoubled) {
  make_file(1000);
  for (uint32_t i = 0; i < 8; ++i) free_every_second(10 + 100 * i, 10);
  pass(1);
  db_.allocate(2);
  EXPECT_EQ(records().records_loaded, 8u);
  EXPECT_EQ(counts().failed_searches, 4u);
  EXPECT_EQ(counts().search_cmps, 9 + 19 + 39 + 79u);
}

TEST_F(LmdbF1File, MergesTheRecordsBetweenTwoSearchesAtOnce) {
  make_file(1000);
  for (uint32_t i = 0; i < 8; ++i) free_every_second(10 + 100 * i, 10);
  pass(1);
  db_.allocate(2);
  EXPECT_EQ(records().merge_moves, 10 + 20 + 40 + 80u);
}

TEST_F(LmdbF1File, ShowsThatARequestGrowsWithTheFreePages) {
  ask_again_and_again(500);
  EXPECT_NEAR(replayer::fit_growth(db_.growth()[1]).exponent, 1.0, 0.15);
}

struct LmdbF1BugFile : LmdbFile {
  LmdbF1BugFile() : LmdbFile({.variant = LmdbVariant::kF1Bug}) {}
};

TEST_F(LmdbF1BugFile, LosesARecordWheneverItLoads) {
  make_file(1000);
  for (uint32_t i = 0; i < 4; ++i) free_every_second(10 + 100 * i, 10 + i);
  pass(1);
  db_.allocate(2);  // loads 10 and 12 pages, after each of which it skips a record
  EXPECT_EQ(records().leaked_pages, 0u);
  db_.commit();
  EXPECT_EQ(records().leaked_pages, 11 + 13u);
}

TEST_F(LmdbF1BugFile, LosesRecordsThatWereWrittenBackToo) {
  make_file(10000);
  pass(20);
  free_every_second(10, 509 * 8);
  pass(1);
  db_.allocate(2);
  db_.commit();
  EXPECT_EQ(records().leaked_pages, 0u);
  db_.allocate(2);  // 1, 1, 2 of the eight, and one lost after each but the last
  db_.commit();
  EXPECT_EQ(records().leaked_pages, 3 * 509u);
}

struct LmdbF2File : LmdbFile {
  LmdbF2File() : LmdbFile({.variant = LmdbVariant::kF2, .skip_pages = 10}) {}
};

TEST_F(LmdbF2File, ExtendsTheFileForALargeRequest) {
  make_file(100);
  free({{20, 50}});
  pass(1);
  EXPECT_EQ(db_.allocate(10), 102u);
  EXPECT_EQ(records().records_loaded, 0u);
  EXPECT_EQ(db_.allocate(9), 20u);
}

struct LmdbF3File : LmdbFile {
  LmdbF3File() : LmdbFile({.variant = LmdbVariant::kF3, .load_ids = 20}) {}
};

TEST_F(LmdbF3File, StopsLoadingWhenTheListIsLongEnough) {
  make_file(1000);
  for (uint32_t i = 0; i < 8; ++i) free_every_second(10 + 100 * i, 9);
  pass(1);
  db_.allocate(2);
  EXPECT_EQ(records().records_loaded, 3u);
  EXPECT_EQ(counts().failed_searches, 3u);
}

}  // namespace
}  // namespace heaptape::allocators::lmdb
