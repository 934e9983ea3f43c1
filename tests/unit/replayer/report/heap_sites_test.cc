#include "replayer/report/heap_sites.h"

#include <gtest/gtest.h>

#include "tests/support/stack_tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::replayer {
namespace {

// A page with blocks of calls #1, #2 and #3, whose sites are lex, read and read, and holes of 912
// and 1,936 bytes between them.
class HeapSites : public testing::Test {
 protected:
  HeapSites() {
    tests::write_stack_tape(dir_.file("a.tape"));
    HeapPicture& picture = explanation_.run.picture.emplace();
    picture.blocks = {{0x10010, 104, 100, 1, 0}, {0x10408, 56, 50, 2, 0}, {0x10bd0, 24, 7, 3, 0}};
    picture.regions = {{0x10000, 0x11000}};
    picture.absent.emplace();
  }
  void of(const SiteFilters& filters) {
    sites_.emplace(tests::sample_stacks(), symbols_, *SiteRules::make(filters));
    auto tape = schema::TapeReader::open(dir_.file("a.tape"));
    calls_.emplace(*CallSites::read(*tape, *sites_, calls_to_name(picture(), {})));
    holes_ = find_holes(picture());
  }
  const HeapPicture& picture() const { return *explanation_.run.picture; }
  std::vector<HeapSite> shown() const { return heap_sites(picture(), holes_, *calls_); }
  HeapOfSites heap(const std::string& allocator) const {
    schema::TapeHeader header;
    header.allocator = allocator;
    return heap_of_sites(header, explanation_, *calls_);
  }

  tests::TempDir dir_;
  Symbols symbols_ = tests::sample_symbols();
  std::optional<Sites> sites_;
  std::optional<CallSites> calls_;
  std::vector<Hole> holes_;
  Explanation explanation_;
};

TEST_F(HeapSites, HaveTheSlackOfTheirBlocks) {
  of({});
  ASSERT_EQ(shown().size(), 2u);
  EXPECT_EQ(sites_->text(shown()[0].site), "read (app.cc:40)");
  EXPECT_EQ(shown()[0].blocks, 2u);
  EXPECT_EQ(shown()[0].slack_bytes, 23u);
  EXPECT_EQ(shown()[1].slack_bytes, 4u);
}

TEST_F(HeapSites, PinTheHolesBesideTheirBlocks) {
  of({});
  ASSERT_EQ(holes_.size(), 2u);
  const uint64_t first = holes_[0].range.bytes();
  const uint64_t second = holes_[1].range.bytes();
  EXPECT_EQ(shown()[0].hole_bytes, first + second);  // the second is between two blocks of it
  EXPECT_EQ(shown()[1].hole_bytes, first);
}

TEST_F(HeapSites, AskedForMostOfAGroup) {
  of({});
  const PinGroup group{.size_bytes = 0, .count = 3, .blocks = {0, 1, 2}};
  const SiteOfGroup site = site_of_group(picture(), group, *calls_);
  EXPECT_EQ(sites_->text(site.site), "read (app.cc:40)");
  EXPECT_EQ(site.blocks, 2u);
}

TEST_F(HeapSites, AreThoseThatTheUserWantsToSee) {
  of({.only = "site~lex"});
  ASSERT_EQ(shown().size(), 1u);
  EXPECT_EQ(sites_->text(shown()[0].site), "lex (lex.h:3)");
}

TEST_F(HeapSites, CountEachHoleOnceInTheWhole) {
  of({.only = "site~lex"});
  const HeapSite total = heap("/usr/lib/libc.so.6").total;
  EXPECT_EQ(total.blocks, 3u);
  EXPECT_EQ(total.slack_bytes, 27u);
  EXPECT_EQ(total.hole_bytes, holes_[0].range.bytes() + holes_[1].range.bytes());
}

TEST_F(HeapSites, KnowSlackWhereTheSizesOfBlocksAreKnown) {
  of({});
  EXPECT_TRUE(heap("/usr/lib/libjemalloc.so.2").knows_slack);
  explanation_.run.spec.kind = allocators::BackendKind::kRecorded;
  EXPECT_FALSE(heap("/usr/lib/libjemalloc.so.2").knows_slack);
  EXPECT_TRUE(heap("/lib/x86_64-linux-gnu/libc.so.6").knows_slack);
}

}  // namespace
}  // namespace heaptape::replayer
