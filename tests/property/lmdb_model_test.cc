// Whatever the calls, the model finds the pages and counts the steps that LMDB's array would, and
// hands out memory that is its own and nobody else's.
#include <gtest/gtest.h>

#include "allocators/models/lmdb/lmdb_model.h"
#include "tests/support/literal_lmdb.h"
#include "tests/support/model_heap.h"
#include "tests/support/seeded_random.h"

namespace heaptape::allocators::lmdb {
namespace {

// One sequence of calls on both.
class AgainstTheArray : public testing::Test {
 protected:
  using Options = LmdbPageAllocator::Options;

  struct Shape {
    uint32_t most_live = 0;      // blocks; a third of them is least
    uint32_t most_pages = 0;     // of a block
    uint32_t calls_per_txn = 0;  // on average
  };

  void start(const Options& options) {
    model_.emplace(options);
    literal_.emplace(options);
    live_.clear();
  }

  void allocate(uint32_t pages) {
    live_.push_back({literal_->allocate(pages), pages});
    ASSERT_EQ(model_->allocate(pages), live_.back().first);
    ASSERT_EQ(counts_of(*model_), literal_->counts());
  }

  void release(size_t index) {
    model_->release(live_[index]);
    literal_->release(live_[index].first, live_[index].pages);
    live_.erase(live_.begin() + static_cast<ptrdiff_t>(index));
  }

  void commit() {
    model_->commit();
    literal_->commit();
    ASSERT_EQ(counts_of(*model_), literal_->counts());
  }

  void call_at_random(const Shape& shape, int calls) {
    bool growing = true;
    for (int i = 0; i < calls && !HasFailure(); ++i) {
      if (live_.size() >= shape.most_live) growing = false;
      if (live_.size() <= shape.most_live / 3) growing = true;
      if (live_.empty() || random_.chance(4) != growing) {
        allocate(random_.chance(2) ? 1
                                   : static_cast<uint32_t>(1 + random_.below(shape.most_pages)));
      } else {
        release(random_.below(live_.size()));
      }
      if (random_.chance(shape.calls_per_txn)) commit();
    }
  }

  // Random calls, of which enough led to searches that failed in long lists.
  void compare(const Options& options, const Shape& shape, int calls,
               uint64_t list = 2 * kLmdbRecordIds) {
    start(options);
    call_at_random(shape, calls);
    EXPECT_GT(model_->counts().from_freelist[1], 1000u);
    EXPECT_GT(model_->counts().failed_searches, 1000u);
    EXPECT_GT(model_->record_counts().longest, list);
  }

  tests::SeededRandom random_;
  std::optional<LmdbPageAllocator> model_;
  std::optional<tests::LiteralLmdb> literal_;
  std::vector<LmdbRun> live_;

 private:
  static tests::LiteralLmdb::Counts counts_of(const LmdbPageAllocator& model) {
    const FreeRecords::Counts& records = model.record_counts();
    return {model.counts().search_cmps, records.merge_moves,  model.counts().straggler_moves,
            records.records_loaded,     records.leaked_pages, records.rewrite_pages};
  }
};

TEST_F(AgainstTheArray, F0AgreesInShortTransactions) {
  compare({}, {4000, 12, 5}, 40000);
}

TEST_F(AgainstTheArray, F0AgreesInLongTransactions) {
  compare({}, {6000, 30, 300}, 60000);
}

TEST_F(AgainstTheArray, F0AgreesWhereRetriesRunOut) {
  start({});
  for (int i = 0; i < 800; ++i) allocate(1);
  for (size_t i = 0; i < 400; ++i) {
    release(i);  // every second page, as the ones behind move up
    if (i % 2 == 1) commit();
  }
  for (int i = 0; i < 3; ++i) allocate(2);
  EXPECT_GT(model_->counts().retry_exhausted, 0u);
  call_at_random({1000, 3, 10}, 3000);
}

TEST_F(AgainstTheArray, F0AgreesWhileAReaderHoldsRecords) {
  compare({LmdbVariant::kF0, 0, 0, 3000}, {5000, 30, 10}, 40000, 100);
}

TEST_F(AgainstTheArray, F1Agrees) {
  compare({LmdbVariant::kF1}, {6000, 30, 20}, 40000);
}

TEST_F(AgainstTheArray, F1WithItsBugAgrees) {
  compare({LmdbVariant::kF1Bug}, {6000, 30, 20}, 40000, 100);
}

TEST_F(AgainstTheArray, F2Agrees) {
  compare({LmdbVariant::kF2, 25}, {6000, 30, 20}, 40000);
}

TEST_F(AgainstTheArray, F3Agrees) {
  compare({LmdbVariant::kF3, 0, 1100}, {6000, 30, 20}, 40000);
}

class RandomLmdbHeap : public testing::Test {
 protected:
  void run(tests::ModelHeap<LmdbModel> heap, int calls) {
    tests::SeededRandom random;
    std::vector<uint64_t> blocks;
    for (int i = 0; i < calls && !HasFailure(); ++i) act(heap, random, blocks);
    EXPECT_EQ(heap.committed_bytes(), (heap.counter("filePages") - 2) * kPageBytes);
  }

 private:
  static void act(tests::ModelHeap<LmdbModel>& heap, tests::Random& random,
                  std::vector<uint64_t>& blocks) {
    if (random.chance(50)) heap.model().release_null();
    if (blocks.size() < 300 && random.chance(2)) {
      const uint64_t alignment = random.chance(8) ? uint64_t{1} << random.below(23) : 0;
      blocks.push_back(heap.allocate(random.below(random.chance(4) ? 200000 : 6000), alignment));
      return;
    }
    if (blocks.empty()) return;
    uint64_t& block = blocks[random.below(blocks.size())];
    if (random.chance(3)) {
      block = heap.reallocate(block, random.below(20000));
    } else {
      heap.release(block);
      block = blocks.back();
      blocks.pop_back();
    }
  }
};

TEST_F(RandomLmdbHeap, KeepsBlocksApartAndOnMemoryItHolds) {
  run(tests::ModelHeap<LmdbModel>(), 50000);
}

TEST_F(RandomLmdbHeap, KeepsBlocksApartWhilePagesLeak) {
  run(tests::ModelHeap<LmdbModel>({"variant=f1-bug"}), 50000);
}

TEST_F(RandomLmdbHeap, KeepsBlocksApartInTransactionsOfAFewCalls) {
  run(tests::ModelHeap<LmdbModel>({"txn_ops=7"}), 50000);
}

}  // namespace
}  // namespace heaptape::allocators::lmdb
