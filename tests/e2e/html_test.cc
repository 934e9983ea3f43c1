// --html of replay and diff: what is written, and what is refused. tests/browser opens the pages.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/programs.h"
#include "tests/support/stack_tapes.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

using tests::Ended;
using tests::expect_refusal;
using tests::run;

class HtmlReport : public testing::Test {
 protected:
  HtmlReport() { tests::write_stack_tape(tape_); }
  Ended replay(const std::vector<std::string>& options) const {
    std::vector<std::string> words{"heaptape", "replay", tape_, "-a", "model:ideal"};
    words.insert(words.end(), options.begin(), options.end());
    return run(words);
  }
  std::string page() const { return tests::read_bytes(page_); }

  tests::TempDir dir_;
  std::string tape_ = dir_.file("a.tape");
  std::string report_ = dir_.file("a.json");
  std::string page_ = dir_.file("a.html");
};

TEST_F(HtmlReport, HasTheStacksOfTheTape) {
  ASSERT_EQ(replay({"--html", page_}).status, 0);
  EXPECT_NE(page().find(R"("peakBytes":[407,407,400,7,0])"), std::string::npos);
}

TEST_F(HtmlReport, HasWhatTheStacksPin) {
  tests::write_pinned_tape(tape_);
  ASSERT_EQ(replay({"-a", "model:ptmalloc", "--html", page_, "-o", report_}).status, 0);
  EXPECT_NE(page().find(R"("pinned":[{"label":"model:ptmalloc","moments":["peak","exit"]},)"
                        R"({"label":"model:ptmalloc","moments":["end"]}],)"),
            std::string::npos);
  EXPECT_NE(tests::read_bytes(report_).find(R"("moments": ["end"], "bytes": [30032, )"),
            std::string::npos);
}

TEST_F(HtmlReport, LeavesPinsOfStatesToTheReport) {
  tests::write_pinned_tape(tape_);
  ASSERT_EQ(replay({"-a", "model:ptmalloc", "--html", page_, "-o", report_}).status, 0);
  EXPECT_NE(tests::read_bytes(report_).find(R"("pins": [)"), std::string::npos);
  EXPECT_EQ(page().find(R"("pins":)"), std::string::npos);
}

TEST_F(HtmlReport, PinsWithWhatIsShownAlone) {
  tests::write_pinned_tape(tape_);
  ASSERT_EQ(replay({"-a", "recorded", "--only", "site~app\\+0x400", "-o", report_}).status, 0);
  EXPECT_NE(tests::read_bytes(report_).find(R"("moments": ["end"], "bytes": [25024, )"),
            std::string::npos);
}

TEST_F(HtmlReport, HidesWhatTheUserHides) {
  ASSERT_EQ(replay({"--html", page_, "--hide", "app\\+0x100"}).status, 0);
  EXPECT_EQ(page().find("app+0x100"), std::string::npos);
  EXPECT_NE(page().find("app+0x200"), std::string::npos);
}

TEST_F(HtmlReport, HasNoneOfATapeWithoutAny) {
  tests::write_tape(tape_, {tests::malloc_event(1, 0x1000)});
  ASSERT_EQ(replay({"--html", page_}).status, 0);
  EXPECT_EQ(page().find(R"("stacks":)"), std::string::npos);
}

TEST_F(HtmlReport, IsForItsOwnerAlone) {
  ASSERT_EQ(replay({"--html", page_}).status, 0);
  EXPECT_EQ(std::filesystem::status(page_).permissions(), std::filesystem::perms(0600));
}

TEST_F(HtmlReport, DoesNotTakeThePlaceOfOtherFiles) {
  expect_refusal(replay({"--html", tape_}), "is the tape");
  expect_refusal(replay({"--html", page_, "-o", page_}), "report and HTML cannot both go to");
  expect_refusal(replay({"--html", page_, "--csv", page_}), "CSV and HTML cannot both go to");
}

TEST_F(HtmlReport, OfOneMomentIsForItsOwnerAloneAndNoOtherFile) {
  const std::vector<std::string> words{"heaptape",       "explain", tape_,  "-a",
                                       "model:ptmalloc", "--at",    "peak", "--html"};
  const auto explain = [&words](const std::string& path) {
    std::vector<std::string> all = words;
    all.push_back(path);
    return run(all);
  };
  const Ended told = explain(page_);
  ASSERT_EQ(told.status, 0);
  EXPECT_NE(told.out.find("where the memory is"), std::string::npos);
  EXPECT_NE(page().find(R"("kind":"explain")"), std::string::npos);
  EXPECT_EQ(std::filesystem::status(page_).permissions(), std::filesystem::perms(0600));
  expect_refusal(explain(tape_), "is the tape");
  expect_refusal(explain(dir_.file("none/a.html")), "none");
}

TEST_F(HtmlReport, OfTwoReportsHasTheStacksOfBoth) {
  ASSERT_EQ(replay({"-o", report_}).status, 0);
  EXPECT_EQ(run({"heaptape", "diff", report_, report_, "--html", page_}).status, 0);
  EXPECT_NE(page().find(R"("base":{"peakBytes":[407,)"), std::string::npos);
  expect_refusal(run({"heaptape", "diff", report_, report_, "--html", report_}), "is a report");
}

TEST_F(HtmlReport, OfSeveralBasesHasTheStacksOfTheLast) {
  const std::string shorter = dir_.file("shorter.json");
  ASSERT_EQ(replay({"-o", shorter, "--to", "1"}).status, 0);
  ASSERT_EQ(replay({"-o", report_}).status, 0);
  const auto ended = run({"heaptape", "diff", shorter, report_, report_, "--html", page_});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  EXPECT_NE(page().find(R"("base":{"peakBytes":[407,)"), std::string::npos);
}

TEST_F(HtmlReport, OfTwoReportsIsThereWhenAGateFails) {
  ASSERT_EQ(replay({"-o", report_}).status, 0);
  EXPECT_EQ(run({"heaptape", "diff", report_, report_, "--html", page_, "--fail-if",
                 "peak.liveBytes > 1"})
                .status,
            1);
  EXPECT_NE(page().find("1 of 1 gate check"), std::string::npos);
}

}  // namespace
}  // namespace heaptape
