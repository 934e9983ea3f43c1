#include "replayer/sites/site_table.h"

#include <gtest/gtest.h>

#include "replayer/engine/slot_resolver.h"
#include "tests/support/stack_tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::replayer {
namespace {

class ASiteTable : public testing::Test {
 protected:
  void of(const SiteFilters& filters, StackValue order = StackValue::kPeak) {
    sites_.emplace(tests::sample_stacks(), symbols_, *SiteRules::make(filters));
    StackProfile profile(sites_->by_stack().size(), sites_->by_stack());
    tests::write_stack_tape(dir_.file("a.tape"));
    auto tape = schema::TapeReader::open(dir_.file("a.tape"));
    SlotResolver resolver;
    schema::EventBatch batch;
    ResolvedBatch resolved;
    ASSERT_TRUE(tape->read(batch, 100).ok());
    ASSERT_TRUE(resolver.resolve(batch.events, 0, resolved).ok());
    profile.add(batch, 0, resolved.ops);
    table_ = site_table(profile, *sites_, order);
  }
  std::string site(size_t row) { return sites_->text(table_.rows.at(row).site); }

  tests::TempDir dir_;
  Symbols symbols_ = tests::sample_symbols();
  std::optional<Sites> sites_;
  SiteTable table_;
};

TEST_F(ASiteTable, RanksSitesByWhatTheyHadAtThePeak) {
  of({});
  ASSERT_EQ(table_.rows.size(), 3u);
  EXPECT_EQ(site(0), "lex (lex.h:3)");
  EXPECT_EQ(site(1), "read (app.cc:40)");
  EXPECT_EQ(site(2), "(no stack)");
  EXPECT_EQ(table_.peak_at, 4u);
}

TEST_F(ASiteTable, RanksSitesAsAsked) {
  of({}, StackValue::kTemporaries);
  EXPECT_EQ(site(0), "(no stack)");
}

TEST_F(ASiteTable, AddsUpTheStacksOfASite) {
  of({});
  EXPECT_EQ(table_.rows[0].totals, (StackTotals{.calls = 2,
                                                .asked_bytes = 400,
                                                .peak_bytes = 400,
                                                .peak_count = 2,
                                                .live_bytes = 300,
                                                .live_count = 1,
                                                .temporaries = 0,
                                                .freed_by_others = 1,
                                                .moved_bytes = 50}));
}

TEST_F(ASiteTable, HasTheTotalOfTheTape) {
  of({.only = "site~read"});
  EXPECT_EQ(table_.total.asked_bytes, 467u);
  EXPECT_EQ(table_.total.peak_bytes, 407u);
  EXPECT_EQ(table_.rows.size(), 1u);
  EXPECT_EQ(table_.left_out.calls, 3u);
}

// One block was freed, one was not.
TEST_F(ASiteTable, KnowsMedianLifetimes) {
  of({});
  EXPECT_EQ(table_.rows[0].blocks, 2u);
  EXPECT_EQ(table_.rows[0].median_lifetime, 3u);
  EXPECT_EQ(table_.rows[1].median_lifetime, std::nullopt);
  EXPECT_EQ(table_.rows[2].median_lifetime, 0u);
}

}  // namespace
}  // namespace heaptape::replayer
