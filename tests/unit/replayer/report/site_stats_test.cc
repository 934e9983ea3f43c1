#include "replayer/report/site_stats.h"

#include <gtest/gtest.h>

#include "replayer/report/tape_stats.h"
#include "tests/support/stack_tapes.h"
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
  void count() {
    StackProfile profile(5, sites_.by_stack());
    auto tape = schema::TapeReader::open(dir_.file("a.tape"));
    ASSERT_TRUE(count_stacks(*tape, profile, [](double) {}).ok());
    table_ = site_table(profile, sites_, StackValue::kPeak);
  }
  std::string text(size_t top) { return sites_text(table_, sites_, StackValue::kPeak, top); }

  tests::TempDir dir_;
  Symbols symbols_ = tests::sample_symbols();
  Sites sites_{tests::sample_stacks(), symbols_, {}};
  SiteTable table_;
};

TEST_F(SiteStats, AreATableForPeople) {
  EXPECT_EQ(
      text(30),
      R"(site              bytes at peak          bytes at end  bytes asked for  calls  temporaries  median lifetime  freed by others
lex (lex.h:3)             400 B   98.3%         300 B            400 B      2            0                3                1
read (app.cc:40)            7 B    1.7%           7 B             57 B      2            0      never freed                0
(no stack)                  0 B    0.0%           0 B             10 B      1            1                0                0
total                     407 B  100.0%         307 B            467 B      5            1                                 1
)");
}

TEST_F(SiteStats, PutWhatIsNotShownTogether) {
  EXPECT_NE(
      text(1).find("\n(others)                 7 B    1.7%           7 B             67 B      3"),
      std::string::npos)
      << text(1);
  EXPECT_NE(text(1).find("\n... and 2 sites more: --top N"), std::string::npos);
}

TEST_F(SiteStats, AreCsv) {
  const std::string csv = sites_csv(table_, sites_);
  EXPECT_NE(csv.find("\nlex (lex.h:3),lex,/src/lex.h,3,/opt/app,512,2,400,400,2,300,1,0,1,2,3\n"),
            std::string::npos)
      << csv;
  EXPECT_NE(csv.find("\n(no stack),,,0,,0,1,10,0,0,0,0,1,0,1,0\n"), std::string::npos) << csv;
}

TEST_F(SiteStats, ShortenNamesInTheTableOnly) {
  const std::string name = "app::" + std::string(100, 'x') + "::end";
  call_all(name + "(int)");
  EXPECT_NE(text(30).find("\napp::xxxxxxxxxxxxxxxxxxxxxxxx...xxxxxxxxxxx::end (a.cc:5)  "),
            std::string::npos)
      << text(30);
  EXPECT_NE(sites_csv(table_, sites_).find(name + "(int) (a.cc:5),"), std::string::npos);
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
