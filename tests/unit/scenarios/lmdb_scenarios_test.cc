// What is known of LMDB from its sources, from measurements and from the report ITS#10236, on the
// scenarios that restate it. docs/models/lmdb.md has the formulas.
#include <gtest/gtest.h>

#include <map>

#include "tests/support/programs.h"
#include "tests/support/replays.h"
#include "tests/support/scenario_tapes.h"

namespace heaptape::scenarios {
namespace {

using Sets = std::vector<std::string>;

// Sanitizers see the same code in the smaller cases.
constexpr const char* kTakesAMinute = "a million pages take a minute under sanitizers";

// One tape and what became of it, variant by variant.
class LmdbTape : public testing::Test {
 protected:
  void make(const std::string& scenario, const Sets& sets) {
    path_ = tests::write_scenario(dir_, scenario, sets);
  }
  uint64_t play(const std::string& variant, const std::string& counter) {
    return tests::counters_of(run(variant)).at(counter);
  }
  const replayer::RunMetrics& run(const std::string& variant) {
    const auto [run, is_new] = runs_.try_emplace(variant);
    if (is_new) {
      const auto options = tests::replay_options({"model:lmdb:variant=" + variant});
      run->second = tests::replay_tape(path_, options).at(0);
    }
    return run->second;
  }

 private:
  const tests::TempDir dir_;
  std::string path_;
  std::map<std::string, replayer::RunMetrics> runs_;
};

struct SyntheticRow {
  const char* ids;
  const char* pages;
  uint64_t loads;
  uint64_t comparisons;

  friend void PrintTo(const SyntheticRow& row, std::ostream* out) {
    *out << "ids=" << row.ids << " n=" << row.pages;
  }
};

class LmdbSynthetic : public LmdbTape, public testing::WithParamInterface<SyntheticRow> {};

TEST_P(LmdbSynthetic, OneBrickCostsWhatTheFormulaSays) {
  const SyntheticRow& row = GetParam();
  if (tests::kSanitized && row.loads > 1000) GTEST_SKIP() << kTakesAMinute;
  make("lmdb-synthetic", {std::string("ids=") + row.ids, std::string("n=") + row.pages});
  EXPECT_EQ(play("f0", "recordsLoaded"), row.loads);
  EXPECT_EQ(play("f0", "failedSearches"), row.loads);
  EXPECT_EQ(play("f0", "searchCmps"), row.comparisons);
  EXPECT_EQ(play("f0", "allocExtendN"), 1u);
}

INSTANTIATE_TEST_SUITE_P(Rows, LmdbSynthetic,
                         testing::Values(SyntheticRow{"31606", "20", 63, 1'024'947},
                                         SyntheticRow{"106800", "20", 210, 11'272'905},
                                         SyntheticRow{"1M", "20", 1'201, 367'373'890},
                                         SyntheticRow{"1M", "21", 1'261, 404'981'499},
                                         SyntheticRow{"2M", "33", 1'981, 999'190'647}));

using LmdbSyntheticTape = LmdbTape;

TEST_F(LmdbSyntheticTape, HasNoRunLongEnoughForABrick) {
  make("lmdb-synthetic", {"ids=20k", "n=8", "max_run=30", "bricks=3", "bricks_per_txn=3"});
  EXPECT_EQ(play("f0", "maxMopLen"), 40 * 509u);
  EXPECT_EQ(play("f0", "allocFromFreelistN"), 0u);
}

TEST_F(LmdbSyntheticTape, ShowsThatF1SearchesTwelveTimesInAMillionPages) {
  if (tests::kSanitized) GTEST_SKIP() << kTakesAMinute;
  make("lmdb-synthetic", {"ids=1M", "n=20"});
  EXPECT_EQ(play("f1", "recordsLoaded"), 1'965u);
  EXPECT_EQ(play("f1", "failedSearches"), 12u);
  EXPECT_EQ(play("f1", "searchCmps"), 2'041'880u);
  EXPECT_EQ(play("f1", "leakedPages"), 0u);
}

TEST_F(LmdbSyntheticTape, ShowsThatTheBugOfF1LosesARecordAtEachOfElevenLoads) {
  if (tests::kSanitized) GTEST_SKIP() << kTakesAMinute;
  make("lmdb-synthetic", {"ids=1M", "n=20"});
  EXPECT_EQ(play("f1-bug", "leakedPages"), 11 * 509u);
}

TEST_F(LmdbSyntheticTape, ShowsThatF2DoesNotLookWhereTheBrickIsLarge) {
  make("lmdb-synthetic", {"ids=50k", "n=10000"});
  EXPECT_EQ(play("f2", "searchCmps"), 0u);
  EXPECT_EQ(play("f2", "recordsLoaded"), 0u);
  EXPECT_GT(play("f0", "searchCmps"), 0u);
}

TEST_F(LmdbSyntheticTape, ShowsThatF2LooksWhereTheBrickIsSmaller) {
  make("lmdb-synthetic", {"ids=50k", "n=9999"});
  EXPECT_EQ(play("f2", "searchCmps"), play("f0", "searchCmps"));
}

TEST_F(LmdbSyntheticTape, ShowsThatF3LoadsAQuarterOfAMillionPages) {
  if (tests::kSanitized) GTEST_SKIP() << kTakesAMinute;
  make("lmdb-synthetic", {"ids=1M", "n=20"});
  EXPECT_EQ(play("f3", "recordsLoaded"), 516u);  // 515 records are less than 262,144 pages
  EXPECT_EQ(play("f3", "searchCmps"), 509u * 516 * 517 / 2 - 516 * 19);
}

TEST_F(LmdbSyntheticTape, CostsTheSameInEveryTransaction) {
  make("lmdb-synthetic", {"ids=31606", "n=20", "bricks=10"});
  EXPECT_EQ(play("f0", "searchCmps"), 10 * 1'024'947u);
}

TEST_F(LmdbSyntheticTape, LoadsOnceForAllBricksOfATransaction) {
  make("lmdb-synthetic", {"ids=31606", "n=20", "bricks=10", "bricks_per_txn=10"});
  EXPECT_EQ(play("f0", "recordsLoaded"), 63u);
  EXPECT_EQ(play("f0", "searchCmps"), 1'024'947 + 9 * (63 * 509 - 19u));
}

TEST_F(LmdbSyntheticTape, ShowsThatASearchGrowsWithTheList) {
  make("lmdb-synthetic", {"ids=200k", "n=20"});
  const replayer::GrowthFit search = run("f0").growth.at(0);
  EXPECT_EQ(search.operations, 393u);
  EXPECT_TRUE(search.grows);
  EXPECT_NEAR(search.exponent, 1.0, 0.1);
}

// A file as in the report, a hundredth of its size: 30,000 pages free, all over it.
class LmdbDustAndBricks : public LmdbTape {
 protected:
  void SetUp() override { make("lmdb-dust-bricks", kSmall); }

  // The same with other parameters besides, on the variant as released.
  uint64_t play_with(const std::string& set, const std::string& counter) {
    Sets sets = kSmall;
    sets.push_back(set);
    return tests::counters_of(tests::replay_scenario("lmdb-dust-bricks", sets, "model:lmdb"))
        .at(counter);
  }
  uint64_t without_dust(const std::string& counter) { return play_with("dust=0", counter); }

 private:
  inline static const Sets kSmall = {"dust=300k", "dust_per_txn=3k", "hold_reader=85", "bricks=3k"};
};

TEST_F(LmdbDustAndBricks, RankInComparisonsAsTheReportDoesInTime) {
  EXPECT_GT(play("f0", "searchCmps"), 10 * play("f1", "searchCmps"));
  EXPECT_GT(play("f1", "searchCmps"), 10 * play("f1-bug", "searchCmps"));
  EXPECT_GT(play("f1-bug", "searchCmps"), without_dust("searchCmps"));
}

TEST_F(LmdbDustAndBricks, RankInFileSizeAsInTheReport) {
  EXPECT_GE(play("f1-bug", "filePages"), play("f0", "filePages"));
  EXPECT_GE(play("f0", "filePages"), play("f1", "filePages"));
  EXPECT_GT(play("f1", "filePages"), without_dust("filePages"));
}

TEST_F(LmdbDustAndBricks, LosePagesToTheBugAlone) {
  EXPECT_EQ(play("f0", "leakedPages"), 0u);
  EXPECT_EQ(play("f1", "leakedPages"), 0u);
  EXPECT_GT(play("f1-bug", "leakedPages"), 10'000u);
}

TEST_F(LmdbDustAndBricks, TakeTwentyPagesPerBrick) {
  EXPECT_EQ(without_dust("allocExtendN"), 3'000u);
  EXPECT_EQ(without_dust("filePages"), 2 + 3'000 * 20 + without_dust("allocExtend1"));
}

TEST_F(LmdbDustAndBricks, CostLittleWhenKeysRise) {
  EXPECT_EQ(play_with("key_order=sequential", "failedSearches"), 0u);
  EXPECT_LT(play_with("key_order=sequential", "maxMopLen"), 20u);
}

TEST_F(LmdbDustAndBricks, FindFewerFreePagesWhereNoReaderHeldThem) {
  EXPECT_GT(play("f0", "maxMopLen"), 4 * play_with("hold_reader=0", "maxMopLen"));
}

}  // namespace
}  // namespace heaptape::scenarios
