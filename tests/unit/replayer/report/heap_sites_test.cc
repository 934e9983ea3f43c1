#include "replayer/report/heap_sites.h"

#include <gtest/gtest.h>

#include <cmath>

#include "replayer/sites/sample_weight.h"
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
  // As if the tape had the stacks of some calls: those that it has.
  void sample(uint64_t every_bytes) {
    tests::write_stack_tape(dir_.file("a.tape"),
                            {schema::StackMode::kUnwindTables, 64, every_bytes});
    weight_ = SampleWeight(every_bytes);
  }
  void of(const SiteFilters& filters) {
    sites_.emplace(tests::sample_stacks(), symbols_, *SiteRules::make(filters));
    auto tape = schema::TapeReader::open(dir_.file("a.tape"));
    calls_.emplace(*CallSites::read(*tape, *sites_, calls_to_name(picture(), {})));
    holes_ = find_holes(picture());
  }
  // Of the two holes, at these weights.
  uint64_t hole_bytes(double first, double second) const {
    return static_cast<uint64_t>(
        std::llround(first * static_cast<double>(holes_[0].range.bytes()) +
                     second * static_cast<double>(holes_[1].range.bytes())));
  }
  SiteOfGroup site_of(const std::vector<size_t>& blocks) const {
    const PinGroup group{.size_bytes = 0, .count = blocks.size(), .blocks = blocks};
    return site_of_group(picture(), group, *calls_);
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
  SampleWeight weight_;
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
  const SiteOfGroup site = site_of({0, 1, 2});
  EXPECT_EQ(sites_->text(site.site), "read (app.cc:40)");
  EXPECT_EQ(site.blocks, 2u);
}

// Each block stands for as many as its size says, and so does the half of a hole that is its.
TEST_F(HeapSites, AreEstimatedFromASample) {
  sample(2000);
  of({});
  const std::vector<HeapSite> by_site = heap_by_site(picture(), holes_, *calls_);
  const HeapSite& lex = by_site[calls_->of_call(1)];
  const HeapSite& read = by_site[calls_->of_call(2)];
  const double of_100 = weight_.of(100);
  const double of_50 = weight_.of(50);
  const double of_7 = weight_.of(7);
  EXPECT_EQ(lex.blocks, std::llround(of_100));
  EXPECT_EQ(lex.slack_bytes, std::llround(4 * of_100));
  EXPECT_EQ(lex.hole_bytes, hole_bytes(of_100 / 2, 0));
  EXPECT_EQ(read.blocks, std::llround(of_50 + of_7));
  EXPECT_EQ(read.hole_bytes, hole_bytes(of_50 / 2, of_50 / 2 + of_7 / 2));
}

TEST_F(HeapSites, AskedForMostOfAGroupAsFarAsASampleSays) {
  sample(2000);
  of({});
  const SiteOfGroup site = site_of({0, 1});
  EXPECT_EQ(sites_->text(site.site), "read (app.cc:40)");  // 50 bytes stand for more calls than 100
  EXPECT_EQ(site.blocks, 1u);
  explanation_.run.picture->blocks[1].birth = 6;
  of({});
  EXPECT_EQ(sites_->text(site_of({0, 1}).site), "lex (lex.h:3)");
  EXPECT_EQ(site_of({1}).blocks, 0u);  // whose stack was not chosen
}

TEST_F(HeapSites, PinWhatIsResidentOfTheHoles) {
  explanation_.run.picture->regions = {{0x10000, 0x20000}};
  explanation_.run.picture->blocks[2].address = 0x18bd0;
  explanation_.run.picture->absent->push_back({0x12000, 0x16000});
  of({});
  EXPECT_EQ(shown()[0].hole_bytes - shown()[0].resident_hole_bytes, 0x4000u);
  EXPECT_EQ(shown()[1].hole_bytes, shown()[1].resident_hole_bytes);
}

TEST_F(HeapSites, AreThoseThatTheUserWantsToSee) {
  of({.only = "site~lex"});
  ASSERT_EQ(shown().size(), 1u);
  EXPECT_EQ(sites_->text(shown()[0].site), "lex (lex.h:3)");
}

TEST_F(HeapSites, AreAskedForOfAllThatAnExplanationNames) {
  HeapGrowth growth{.event = 6};
  growth.pin = LiveBlock{0x10010, 104, 100, 5, 0};
  EXPECT_EQ(calls_to_name(picture(), {{growth}}), (std::vector<uint64_t>{1, 2, 3, 6, 5}));
}

TEST_F(HeapSites, CountEachHoleOnceInTheWhole) {
  of({.only = "site~lex"});
  const HeapSite total = heap("/usr/lib/libc.so.6").total;
  EXPECT_EQ(total.blocks, 3u);
  EXPECT_EQ(total.slack_bytes, 27u);
  EXPECT_EQ(total.hole_bytes, holes_[0].range.bytes() + holes_[1].range.bytes());
}

TEST_F(HeapSites, SayOnWhatTheHeapIs) {
  of({});
  explanation_.run.spec.label = "purge";
  explanation_.run.spec.text = "jemalloc";
  explanation_.run.spec.environment = {"MALLOC_CONF=narenas:1"};
  EXPECT_EQ(heap("").label, "purge");
  EXPECT_EQ(heap("").backend, "jemalloc MALLOC_CONF=narenas:1");
}

TEST_F(HeapSites, KnowSlackWhereTheSizesOfBlocksAreKnown) {
  of({});
  EXPECT_TRUE(heap("/usr/lib/libjemalloc.so.2").knows_slack);
  explanation_.run.spec.kind = allocators::BackendKind::kRecorded;
  EXPECT_FALSE(heap("/usr/lib/libjemalloc.so.2").knows_slack);
  EXPECT_TRUE(heap("/lib/x86_64-linux-gnu/libc.so.6").knows_slack);
}

TEST_F(HeapSites, KnowWhatIsPinnedWhereHolesAreResident) {
  of({});
  EXPECT_TRUE(heap("").knows_pinned);
  explanation_.run.metrics.known_resident = KnownResident::kHoles;
  EXPECT_TRUE(heap("").knows_pinned);
  explanation_.run.metrics.known_resident = KnownResident::kSum;
  EXPECT_FALSE(heap("").knows_pinned);
}

}  // namespace
}  // namespace heaptape::replayer
