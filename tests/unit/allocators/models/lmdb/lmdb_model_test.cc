#include <gtest/gtest.h>

#include <algorithm>

#include "allocators/models/lmdb/lmdb_model.h"
#include "allocators/models/model_backend.h"
#include "tests/support/model_heap.h"

namespace heaptape::allocators::lmdb {
namespace {

constexpr uint64_t kOnePage = 4080;  // bytes of a value that fills it

constexpr uint64_t bytes_of(uint64_t pages) {
  return pages * kPageBytes - LmdbModel::kHeaderBytes;
}

constexpr uint64_t address_of(uint64_t page) {
  return kModelBase + page * kPageBytes + LmdbModel::kHeaderBytes;
}

class LmdbHeap : public tests::ModelHeap<LmdbModel> {
 public:
  using ModelHeap::ModelHeap;

  void commit() { model().release_null(); }
  // Runs some transactions that leave all blocks, of which there is one, where they are.
  void pass(int transactions) {
    const auto [block, end] = *live().begin();
    for (int i = 0; i < transactions; ++i) {
      reallocate(block, end - block);
      commit();
    }
  }
  // Twice as many pages, of which every second one is freed in transactions of `record` pages.
  void free_every_second(uint64_t count, uint64_t record) {
    const std::vector<uint64_t> pages = allocate_many(2 * count, kOnePage);
    commit();
    for (uint64_t i = 0; i < count; ++i) {
      release(pages[2 * i]);
      if ((i + 1) % record == 0) commit();
    }
    pass(1);
  }
};

TEST(LmdbModel, TakesSoManyPagesThatHeaderAndBytesFit) {
  EXPECT_EQ(LmdbModel::pages_for(1), 1u);
  EXPECT_EQ(LmdbModel::pages_for(4080), 1u);
  EXPECT_EQ(LmdbModel::pages_for(4081), 2u);
  EXPECT_EQ(LmdbModel::pages_for(80'000), 20u);
  EXPECT_EQ(LmdbModel::pages_for(81'920), 21u);
}

TEST(LmdbModel, RefusesToResizeABlockBeyondAllPages) {
  LmdbHeap heap;
  const uint64_t block = heap.allocate(kOnePage);
  for (uint64_t less = 0; less < 8192; less += 8) {
    EXPECT_EQ(heap.reallocate(block, UINT64_MAX - less), 0u);
  }
}

TEST(LmdbModel, StartsABlockBehindTheHeaderOfItsFirstPage) {
  LmdbHeap heap;
  EXPECT_EQ(heap.allocate(80'000), address_of(2));
  EXPECT_EQ(heap.usable(address_of(2)), 20 * 4096 - 16u);
  EXPECT_EQ(heap.allocate(1), address_of(22));
}

TEST(LmdbModel, GrowsTheFileByWhatItTakesAndNeverShrinksIt) {
  LmdbHeap heap;
  const uint64_t block = heap.allocate(81'920);
  EXPECT_EQ(heap.counter("filePages"), 2 + 21u);
  EXPECT_EQ(heap.committed_bytes(), 21 * kPageBytes);
  heap.release(block);
  heap.commit();
  EXPECT_EQ(heap.committed_bytes(), 21 * kPageBytes);
}

TEST(LmdbModel, SaysThatNoRunOfPagesWasLongEnough) {
  LmdbHeap heap;
  heap.allocate(81'920);
  EXPECT_EQ(heap.rules(), "no run of usable free pages is 21 long: the file grows");
}

TEST(LmdbModel, SaysFromWhichSizeOnNothingIsSearched) {
  LmdbHeap heap({"variant=f2", "skip_pages=21"});
  heap.allocate(81'920);
  EXPECT_EQ(heap.rules(),
            "requests of 21 pages or more (skip_pages) do not search: the file grows");
}

TEST(LmdbModel, SaysThatTheSearchGaveUp) {
  LmdbHeap heap;
  heap.free_every_second(400, 2);
  heap.pass(1);
  heap.allocate(bytes_of(2));
  EXPECT_EQ(heap.rules(),
            "the search gave up before it found a run of free pages 2 long: the file grows");
}

TEST(LmdbModel, ReusesPagesInTheTransactionAfterTheNextOne) {
  LmdbHeap heap;
  const uint64_t block = heap.allocate(kOnePage);
  heap.commit();
  heap.release(block);
  EXPECT_NE(heap.allocate(kOnePage), block);
  heap.commit();
  EXPECT_NE(heap.allocate(kOnePage), block);
  heap.commit();
  EXPECT_EQ(heap.allocate(kOnePage), block);
}

TEST(LmdbModel, GoesOnWithATransactionThatDidNothing) {
  LmdbHeap heap;
  const uint64_t block = heap.allocate(kOnePage);
  heap.release(block);
  heap.commit();
  for (int i = 0; i < 5; ++i) heap.commit();
  EXPECT_EQ(heap.counter("commits"), 1u);
  EXPECT_NE(heap.allocate(kOnePage), block);
}

TEST(LmdbModel, CommitsWhereTheTapeFreesNull) {
  ModelBackend<LmdbModel> backend{base::Values(LmdbModel::parameters())};
  const ReplayOp malloc{ReplayKind::kMalloc, 0, 0, 0, kOnePage};
  const ReplayOp free_null{ReplayKind::kFreeNull, 0, 0, 0, 0};
  const std::vector<ReplayOp> ops = {malloc, free_null, free_null, malloc, free_null};
  ASSERT_TRUE(backend.submit({0, 1, ops, {}, {}}).ok());
  const auto counters = backend.counters();
  const auto commits = std::ranges::find(counters, "commits", &Counter::name);
  EXPECT_EQ(commits->value, 2u);  // one of the three ends nothing
}

TEST(LmdbModel, CommitsAfterSoManyCalls) {
  LmdbHeap heap({"txn_ops=2"});
  const uint64_t block = heap.allocate(kOnePage);
  heap.reallocate(block, kOnePage);
  EXPECT_EQ(heap.counter("commits"), 1u);
  heap.release(block);
  EXPECT_EQ(heap.counter("commits"), 1u);
  heap.allocate(kOnePage);
  EXPECT_EQ(heap.counter("commits"), 2u);
}

TEST(LmdbModel, CountsCallsFromTheLastCommitOn) {
  LmdbHeap heap({"txn_ops=2"});
  heap.allocate(kOnePage);
  heap.commit();
  heap.allocate(kOnePage);
  EXPECT_EQ(heap.counter("commits"), 1u);
}

TEST(LmdbModel, ResizesInPlaceWhileThePagesAreAsMany) {
  LmdbHeap heap;
  const uint64_t block = heap.allocate(80'000);
  EXPECT_EQ(heap.reallocate(block, bytes_of(20)), block);
  EXPECT_EQ(heap.reallocate(block, bytes_of(19) + 1), block);
  EXPECT_NE(heap.reallocate(block, bytes_of(19)), block);
}

TEST(LmdbModel, FreesTheOldPagesOfABlockThatMoves) {
  LmdbHeap heap;
  const uint64_t block = heap.allocate(bytes_of(3));
  heap.reallocate(block, bytes_of(4));
  heap.commit();
  heap.pass(2);
  EXPECT_EQ(heap.allocate(bytes_of(3)), block);
}

TEST(LmdbModel, StartsAnAlignedBlockFurtherIntoItsPages) {
  LmdbHeap heap;
  EXPECT_EQ(heap.allocate(1000, 256), kModelBase + 2 * 4096 + 256);
  EXPECT_EQ(heap.allocate(4096, 4096) % 4096, 0u);
  EXPECT_EQ(heap.counter("filePages"), 2 + 1 + 2u);
}

TEST(LmdbModel, FreesAllPagesOfAnAlignedBlock) {
  LmdbHeap heap;
  const uint64_t block = heap.allocate(bytes_of(1), 64 << 10);
  const uint64_t pages = heap.counter("filePages") - 2;
  heap.allocate(kOnePage);
  heap.commit();
  heap.release(block);
  heap.commit();
  heap.pass(2);
  EXPECT_EQ(heap.allocate(bytes_of(pages)), address_of(2));
}

TEST(LmdbModel, RefusesWhatTheFileCannotHold) {
  LmdbHeap heap;
  EXPECT_EQ(heap.allocate(uint64_t{1} << 42), 0u);
  EXPECT_EQ(heap.allocate(UINT64_MAX), 0u);
  EXPECT_EQ(heap.allocate(1, uint64_t{1} << 42), 0u);
  EXPECT_EQ(heap.counter("filePages"), 2u);
}

TEST(LmdbModel, NeverReusesWhatAReaderHolds) {
  LmdbHeap heap({"hold_reader=2"});
  const std::vector<uint64_t> blocks = heap.allocate_many(3, bytes_of(5));
  heap.release(blocks[0]);
  heap.commit();  // 1: older than the reader
  heap.release(blocks[1]);
  heap.commit();  // 2
  heap.pass(3);
  EXPECT_EQ(heap.allocate(bytes_of(5)), blocks[0]);
  EXPECT_NE(heap.allocate(bytes_of(5)), blocks[1]);
}

TEST(LmdbModel, ReportsTheGrowthOfSearchesAndOfAllocations) {
  LmdbHeap heap;
  heap.free_every_second(100, 10);
  heap.allocate(bytes_of(2));
  const std::vector<GrowthCurve> curves = heap.model().growth();
  ASSERT_EQ(curves.size(), 2u);
  EXPECT_EQ(curves[0].operation + " " + curves[0].scale, "search free-list length");
  EXPECT_EQ(curves[0].operations, 10u);
  EXPECT_EQ(curves[0].work_total, heap.model().work());
  EXPECT_EQ(curves[1].operation + " " + curves[1].scale, "allocation free pages");
  EXPECT_EQ(curves[1].operations, 1u);
}

}  // namespace
}  // namespace heaptape::allocators::lmdb
