// heaptape diff names who asked for the memory: docs/howto-ci.md, "Who did it".
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "schema/tape/tape_writer.h"
#include "tests/support/programs.h"
#include "tests/support/stack_tapes.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

using tests::Ended;
using tests::run;

class SiteDiff : public testing::Test {
 protected:
  // Records a build of the program and replays the tape. Returns what the program said.
  std::string make_report(const std::string& build, const std::string& stacks = "dwarf") {
    const std::string tape = dir_.file(build + ".tape");
    const Ended recorded = run({"heaptape", "record", "--force", "--stacks", stacks, "-o", tape,
                                "--", tests::target_path(build + "/cache")});
    EXPECT_EQ(recorded.status, 0) << recorded.err;
    const Ended replayed =
        run({"heaptape", "replay", tape, "-a", "model:ideal", "-o", json(build)});
    EXPECT_EQ(replayed.status, 0) << replayed.err;
    return recorded.out;
  }
  Ended diff(const std::string& format) const {
    return run({"heaptape", "diff", json("before"), json("after"), "--fail-if",
                "peak.liveBytes>+5%", "--format", format});
  }
  std::string json(const std::string& build) const { return dir_.file(build + ".json"); }

  tests::TempDir dir_;
};

TEST_F(SiteDiff, NamesThePlantedLine) {
  make_report("before");
  const std::string line = make_report("after");
  const std::string site = "remember (cache.c:" + line.substr(0, line.find('\n')) + ")";
  const Ended text = diff("text");
  EXPECT_EQ(text.status, 1) << text.err;
  EXPECT_NE(text.out.find("\nsites that account for the change of bytes at the peak\n"),
            std::string::npos);
  EXPECT_NE(text.out.find("      change\n  " + site + " "), std::string::npos) << text.out;
  EXPECT_TRUE(text.out.starts_with("model:ideal keeps ")) << text.out;
  EXPECT_NE(text.out.find("\n  +390.6 KiB live: " + site + " has 390."), std::string::npos)
      << text.out;
  EXPECT_NE(diff("json").out.find("\"site\": \"" + site + "\""), std::string::npos);
  EXPECT_NE(diff("junit").out.find("; " + site + " has 390.7 KiB more at the peak"),
            std::string::npos)
      << diff("junit").out;
}

TEST_F(SiteDiff, IsFirstAboutTheRunOfTheVerdict) {
  make_report("before");
  EXPECT_EQ(run({"heaptape", "replay", dir_.file("before.tape"), "-a", "model:slabs", "-a",
                 "model:ptmalloc", "-o", json("after")})
                .status,
            0);
  const Ended ended = run({"heaptape", "diff", json("after"), json("after")});
  EXPECT_TRUE(ended.out.starts_with("model:ptmalloc keeps ")) << ended.out;
}

// One block for each request that lives to the end.
TEST_F(SiteDiff, FailsTheStrictGatesAndNamesTheBlocks) {
  make_report("before");
  make_report("after");
  EXPECT_EQ(run({"heaptape", "diff", json("before"), json("before"), "--strict"}).status, 0);
  for (const char* const format : {"text", "markdown", "junit"}) {
    const Ended ended =
        run({"heaptape", "diff", json("before"), json("after"), "--strict", "--format", format});
    EXPECT_EQ(ended.status, 1) << ended.err;
    EXPECT_NE(ended.out.find("1,000 blocks of 400 B alive at the end, requested between "),
              std::string::npos)
        << ended.out;
  }
}

TEST_F(SiteDiff, HasEveryMetricOnRequest) {
  make_report("before");
  make_report("after");
  for (const char* const format : {"text", "markdown"}) {
    std::vector<std::string> words = {"heaptape",    "diff",     json("before"),
                                      json("after"), "--format", format};
    EXPECT_EQ(run(words).out.find("tape.losses.lostRanges"), std::string::npos);
    words.push_back("--all");
    const std::string all = run(words).out;
    for (const char* const metric :
         {"tape.losses.lostRanges", "end.slackBytes", "peak.liveBytes"}) {
      EXPECT_NE(all.find(metric), std::string::npos) << metric << "\n" << all;
    }
  }
}

TEST_F(SiteDiff, LeavesOutWhatDidNotChange) {
  make_report("before");
  tests::write_bytes(json("after"), tests::read_bytes(json("before")));
  EXPECT_EQ(diff("text").out.find("sites"), std::string::npos);
}

TEST_F(SiteDiff, SaysWhichReportHasNoSites) {
  make_report("before");
  make_report("after", "none");
  EXPECT_EQ(tests::read_bytes(json("after")).find("\"sites\""), std::string::npos);
  EXPECT_NE(diff("text").out.find("\nnote: only base has call sites: "), std::string::npos);
}

// The report of the tape that write_stack_tape() makes.
class SitesOfAReport : public testing::Test {
 protected:
  SitesOfAReport() { tests::write_stack_tape(tape_); }
  std::string report(const std::vector<std::string>& options = {}) const {
    std::vector<std::string> words{"heaptape", "replay", tape_, "-a", "model:ideal", "-o", report_};
    words.insert(words.end(), options.begin(), options.end());
    const Ended ended = run(words);
    EXPECT_EQ(ended.status, 0) << ended.err;
    return tests::read_bytes(report_);
  }

  tests::TempDir dir_;
  std::string tape_ = dir_.file("a.tape");
  std::string report_ = dir_.file("a.json");
};

TEST_F(SitesOfAReport, AreOfTheWholeTape) {
  EXPECT_NE(report().find(R"("total": {"calls": 5, "askedBytes": 467, "peakBytes": 407, )"),
            std::string::npos);
}

TEST_F(SitesOfAReport, AreOfTheCallsThatWereReplayed) {
  EXPECT_NE(report({"--to", "3"}).find(R"("total": {"calls": 3, "askedBytes": 157, )"),
            std::string::npos);
}

// At the peak are blocks from before, which no call of the range made.
TEST_F(SitesOfAReport, AreOfARange) {
  const std::string from_4 = report({"--from", "4"});
  EXPECT_NE(from_4.find(R"("total": {"calls": 2, "askedBytes": 310, "peakBytes": 407, )"
                        R"("peakCount": 3, "liveBytes": 307, "liveCount": 2, "temporaries": 1, )"
                        R"("freedByOthers": 1, "movedBytes": 50, "mappedBytes": 0})"),
            std::string::npos)
      << from_4;
  const std::string from_5 = report({"--from", "5"});
  EXPECT_NE(from_5.find(R"("peakAt": 4,)"), std::string::npos) << from_5;
  EXPECT_NE(from_5.find(R"("total": {"calls": 1, "askedBytes": 10, "peakBytes": 407, )"
                        R"("peakCount": 3, "liveBytes": 307, )"),
            std::string::npos);
}

TEST_F(SitesOfAReport, PassOverWhatIsHidden) {
  EXPECT_NE(report().find(R"("site": "app+0x200")"), std::string::npos);
  EXPECT_EQ(report({"--hide", "0x200$"}).find(R"("site": "app+0x200")"), std::string::npos);
}

TEST_F(SitesOfAReport, LeaveOutWhatIsNotAskedFor) {
  const std::string json = report({"--only", "site~0x400"});
  EXPECT_EQ(json.find(R"("site": "app+0x200")"), std::string::npos);
  EXPECT_NE(json.find(R"("others": {"calls": 3, )"), std::string::npos) << json;
}

TEST_F(SitesOfAReport, AreOfAReportAlone) {
  tests::expect_refusal(run({"heaptape", "replay", tape_, "-a", "model:ideal", "--only", "site~a"}),
                        "--hide and --only apply to the call sites of a report: add -o");
}

TEST_F(SitesOfAReport, AreAbsentWhereEveryStackIsUnknown) {
  auto writer = schema::TapeWriter::create(tape_, tests::sample_header());
  ASSERT_TRUE(writer.ok());
  (*writer)->encoder().set_has_stacks();
  (*writer)->encoder().append(tests::malloc_event(100, 0x10000), 0);
  ASSERT_TRUE((*writer)->finish({}).ok());
  EXPECT_EQ(report().find("\"sites\""), std::string::npos);
}

}  // namespace
}  // namespace heaptape
