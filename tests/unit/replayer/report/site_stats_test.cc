#include "replayer/report/site_stats.h"

#include <gtest/gtest.h>

#include <optional>

#include "replayer/report/tape_stats.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/stack_tapes.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::replayer {
namespace {

class SiteStats : public testing::Test {
 protected:
  SiteStats() {
    tests::write_stack_tape(dir_.file("a.tape"));
    count();
  }
  // As if all calls had been made in this function.
  void call_all(const std::string& function) {
    symbols_ = Symbols({{}, {"/opt/app", 1, {{function, "a.cc", 5}}}}, {0, 1, 1, 1, 1});
    sites_ = Sites(tests::sample_stacks(), symbols_, {});
    count();
  }
  void count(SampleWeight weight = {}) {
    StackProfile profile(5, sites_.by_stack(), weight);
    auto tape = schema::TapeReader::open(dir_.file("a.tape"));
    ASSERT_TRUE(count_stacks(*tape, profile, [](double) {}).ok());
    table_ = site_table(profile, sites_, StackValue::kPeak);
  }
  std::string text(size_t top, SiteOrder order = StackValue::kPeak, size_t width = SIZE_MAX) {
    return sites_text({table_, sites_, heap()}, order, top, width);
  }
  std::string csv() { return sites_csv({table_, sites_, heap()}); }
  const HeapOfSites* heap() const { return heap_ ? &*heap_ : nullptr; }
  // The rows of the table have slack of 10, 20, ... and pin 300, 200, ... bytes.
  void give_heap() {
    heap_ = {.label = "glibc", .backend = "glibc", .moment = {"peak", 4}, .by_site = {}};
    heap_->by_site.resize(sites_.list().size());
    for (uint64_t i = 0; i < table_.rows.size(); ++i) {
      HeapSite& site = heap_->by_site[table_.rows[i].site];
      site.slack_bytes = 10 * (i + 1);
      site.resident_hole_bytes = 300 - 100 * i;
      site.hole_bytes = 1000;
    }
    heap_->total.slack_bytes = 60;
    heap_->total.resident_hole_bytes = 400;
  }

  tests::TempDir dir_;
  Symbols symbols_ = tests::sample_symbols();
  Sites sites_{tests::sample_stacks(), symbols_, {}};
  SiteTable table_;
  std::optional<HeapOfSites> heap_;
};

TEST_F(SiteStats, AreATableForPeople) {
  EXPECT_EQ(
      text(30),
      R"(site              bytes at peak   share  bytes at end  bytes requested  calls  temporaries  median lifetime  freed by another thread
lex (lex.h:3)             400 B   98.3%         300 B            400 B      2            0          3 calls                        1
read (app.cc:40)            7 B    1.7%           7 B             57 B      2            0      never freed                        0
(no stack)                  0 B    0.0%           0 B             10 B      1            1          0 calls                        0
total                     407 B  100.0%         307 B            467 B      5            1                                         1
)");
}

TEST_F(SiteStats, KeepTheValueThatOrdersThemHoweverNarrowTheTableIs) {
  for (const auto& [order, name] : {std::pair<SiteOrder, const char*>{StackValue::kCalls, "calls"},
                                    {StackValue::kTemporaries, "temporaries"}}) {
    const std::string narrow = text(30, order, 60);
    const std::string headings = narrow.substr(0, narrow.find('\n'));
    EXPECT_TRUE(headings.find(name) != headings.npos && headings.ends_with(" share")) << headings;
    EXPECT_NE(narrow.find("columns more: --wide shows all"), std::string::npos) << narrow;
  }
}

TEST_F(SiteStats, PutWhatIsNotShownTogether) {
  EXPECT_NE(
      text(1).find("\n(others)                 7 B    1.7%           7 B             67 B      3"),
      std::string::npos)
      << text(1);
  EXPECT_NE(text(1).find("\n... and 2 sites more: --top N"), std::string::npos);
}

TEST_F(SiteStats, SayWhenTheyAreEstimates) {
  count(SampleWeight(400));
  EXPECT_EQ(
      text(30),
      R"(site                 bytes at peak   share  bytes at end   bytes requested     calls  temporaries  median lifetime  freed by another thread
lex (lex.h:3)        1021 B +- 558   71.6%  569 B +- 391     1021 B +- 558    7 +- 4            0          3 calls                        5
read (app.cc:40)      404 B +- 400   28.4%  404 B +- 400      829 B +- 565  66 +- 58            0      never freed                        0
total             1.39 KiB +- 0.68  100.0%  973 B +- 559  1.81 KiB +- 0.78  73 +- 58            0                                         5
whole tape                   407 B                 307 B             467 B         5            1                                         1
estimated from the stacks of 4 calls, chosen at random: one byte in 400 B; +- is the standard error, and the whole-tape line is exact
)");
}

TEST(CountedStacks, HaveWhatIsMappedBehindTheLastCall) {
  const tests::TempDir dir;
  const auto writer =
      std::move(*schema::TapeWriter::create(dir.file("a.tape"), tests::sample_header()));
  writer->encoder().set_has_stacks();
  writer->encoder().add_frame({0, 0x400101});
  writer->append(tests::malloc_event(100, 0x10000), 1);
  for (int i = 0; i < 3; ++i) {
    writer->flush();  // a chunk without calls, but the first
    writer->add_mapping_call({.range = {0x100000, 0x104000}, .stack = 1});
  }
  ASSERT_TRUE(writer->finish({}).ok());
  StackProfile profile(2);
  auto tape = schema::TapeReader::open(dir.file("a.tape"));
  ASSERT_TRUE(count_stacks(*tape, profile, [](double) {}).ok());
  ASSERT_EQ(profile.by_stack().size(), 1u);
  EXPECT_EQ(profile.by_stack().front().totals.mapped_bytes, 3u * 0x4000);
}

TEST_F(SiteStats, AreCsv) {
  const std::string text = csv();
  const std::string lex =
      "\nlex (lex.h:3),lex,/src/lex.h,3,/opt/app,512,2,400,400,2,300,1,0,1,2,3,50,0,";
  EXPECT_NE(text.find(lex + ",,,0,0,0,0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n(no stack),,,0,,0,1,10,0,0,0,0,1,0,1,0,0,0,,,,0,0,0,0\n"),
            std::string::npos);
  give_heap();
  EXPECT_NE(csv().find(lex + "10,1000,300,0,0,0,0\n"), std::string::npos) << csv();
  heap_->knows_slack = false;
  EXPECT_NE(csv().find(lex + ",1000,300,0,0,0,0\n"), std::string::npos) << csv();
}

// Programs name the code that they make as they like.
TEST_F(SiteStats, HaveNoControlCharactersInCsv) {
  call_all("run\x1b[2J\r");
  EXPECT_EQ(csv().find_first_of("\x1b\r"), std::string::npos) << csv();
  EXPECT_NE(csv().find("\nrun\uFFFD[2J\uFFFD (a.cc:5),run\uFFFD[2J\uFFFD,a.cc,5,"),
            std::string::npos)
      << csv();
}

TEST_F(SiteStats, HaveWhatTheyPinAndTheirSlackInAHeap) {
  give_heap();
  EXPECT_NE(text(1).find("  freed by another thread  pinned  slack\n"), std::string::npos)
      << text(1);
  EXPECT_NE(text(1).find("                        1   300 B   10 B\n(others) "), std::string::npos)
      << text(1);
  EXPECT_NE(text(1).find("                        1   400 B   60 B\n"), std::string::npos)
      << text(1);
  EXPECT_NE(text(1).find("\npinned and slack: on glibc at peak, after #4; a hole"),
            std::string::npos)
      << text(1);
}

TEST_F(SiteStats, AreRankedByTheHeap) {
  give_heap();
  rank_by_heap(table_, *heap_, HeapValue::kSlack);
  EXPECT_NE(text(1, HeapValue::kSlack).find("\n(no stack) "), std::string::npos);
  EXPECT_NE(text(1, HeapValue::kSlack).find("   100 B   30 B   50.0%\n"), std::string::npos)
      << text(1, HeapValue::kSlack);
  rank_by_heap(table_, *heap_, HeapValue::kPinned);
  EXPECT_NE(text(1, HeapValue::kPinned).find("   300 B   75.0%   10 B\n"), std::string::npos)
      << text(1, HeapValue::kPinned);
}

TEST_F(SiteStats, HaveNoSlackWhereSizesAreNotKnown) {
  give_heap();
  heap_->knows_slack = false;
  EXPECT_NE(text(1).find("   300 B      -\n"), std::string::npos) << text(1);
  EXPECT_NE(text(1).find("\nslack is unknown"), std::string::npos) << text(1);
}

TEST_F(SiteStats, HaveNothingPinnedWhereResidentPagesAreNotKnown) {
  give_heap();
  heap_->knows_pinned = false;
  EXPECT_NE(text(1).find("      -   10 B\n"), std::string::npos) << text(1);
  EXPECT_NE(text(1).find("\npinned bytes are unknown"), std::string::npos) << text(1);
  EXPECT_NE(csv().find(",10,1000,,0,0,0,0\n"), std::string::npos) << csv();
  heap_->knows_slack = false;
  EXPECT_NE(text(1).find("\npinned bytes and slack are unknown"), std::string::npos) << text(1);
}

TEST_F(SiteStats, HaveTheHeapAsJson) {
  give_heap();
  const auto tape = schema::TapeReader::open(dir_.file("a.tape"));
  const std::string json = *sites_json(*tape, {table_, sites_, heap()});
  EXPECT_NE(json.find(R"("heap": {"blocks": 0, "liveBytes": 0, "slackBytes": 10, )"
                      R"("holeBytes": 1000, "residentHoleBytes": 300})"),
            std::string::npos)
      << json;
  EXPECT_NE(json.find(R"("moment": {"name": "peak", "at": 4)"), std::string::npos) << json;
  EXPECT_EQ(sites_json(*tape, {table_, sites_, nullptr})->find("\"heap\""), std::string::npos);
}

TEST_F(SiteStats, ShortenNamesInTheTableOnly) {
  const std::string name = "app::" + std::string(100, 'x') + "::end";
  call_all(name + "(int)");
  EXPECT_NE(text(30).find("\napp::xxxxxxxxxxxxxxxxxxxxxxxx...xxxxxxxxxxx::end (a.cc:5)  "),
            std::string::npos)
      << text(30);
  EXPECT_NE(csv().find(name + "(int) (a.cc:5),"), std::string::npos);
}

TEST_F(SiteStats, LeaveOutArgumentsOfTemplatesFirst) {
  call_all("void app::Map<" + std::string(50, 'k') + ", std::less<int> >::insert<int>(int)");
  EXPECT_NE(text(30).find("\napp::Map<...>::insert<...> (a.cc:5)  "), std::string::npos)
      << text(30);
  call_all("bool app::operator< <" + std::string(50, 'k') + ">(int)");
  EXPECT_NE(text(30).find("\napp::operator< <kkkkkkkkkkkkk...kkkkkkkkkkkkkkk> (a.cc:5)  "),
            std::string::npos)
      << text(30);
}

}  // namespace
}  // namespace heaptape::replayer
