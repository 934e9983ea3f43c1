// `heaptape ctl PID mark NAME` while a program is recorded.
#include <filesystem>

#include "tests/e2e/record_fixture.h"

namespace heaptape::tests {
namespace {

class RecordMarks : public RecordTest {
 protected:
  // A shell that makes calls, and marks itself.
  Ended mark_itself(const std::string& marks) const {
    return record({"bash", "-c", "x=$(( 1 + 1 )); y=a; " + marks + "; z=$x$y; :"});
  }
  static std::string ctl(const std::string& name) {
    return heaptape_path() + " ctl $$ mark " + name;
  }
  uint64_t event_of(const std::string& name) const {
    const std::string lines = "\n" + dump();
    const size_t at = lines.find(" mark " + name + " at ");
    EXPECT_NE(at, std::string::npos) << name;
    if (at == std::string::npos) return 0;
    return std::stoull(lines.substr(lines.rfind('\n', at) + 1));
  }
};

TEST_F(RecordMarks, StandBetweenTheCallsBeforeAndAfterThem) {
  const Ended ended = mark_itself(ctl("one") + " && y=$(printf %09999d 1) && " + ctl("two"));
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_NE(ended.out.find("mark one after call #"), std::string::npos) << ended.out;
  EXPECT_GT(event_of("one"), 0u);
  EXPECT_LT(event_of("one"), event_of("two"));
  EXPECT_LT(event_of("two"), read_tape().events.size());
}

// The shell forks a child for the program, which has a tape, as any child of a shell.
TEST_F(RecordMarks, LeaveNoTapeOfTheProgramThatMadeThem) {
  if (kSanitized) GTEST_SKIP() << "this heaptape cannot be recorded";
  const Ended ended = mark_itself(ctl("one") + "; exec " + heaptape_path() + " --version");
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
  std::vector<std::string> programs;
  for (const schema::ManifestProcess& process : manifest().processes) {
    programs.push_back(std::filesystem::path(process.executable).filename());
  }
  EXPECT_EQ(programs, (Words{"bash", "bash", "heaptape"}));
  EXPECT_TRUE(manifest().unrecorded.empty());
}

TEST_F(RecordMarks, AreMomentsToExplain) {
  ASSERT_EQ(mark_itself(ctl("half-way")).status, 0);
  const Ended explained =
      run({"heaptape", "explain", tape_path(), "-a", "model:ptmalloc", "--at", "mark:half-way"});
  EXPECT_EQ(explained.status, 0) << explained.err;
  EXPECT_NE(explained.out.find("at mark:half-way: after #"), std::string::npos) << explained.out;
}

TEST_F(RecordMarks, HaveTheirFiguresInReports) {
  ASSERT_EQ(mark_itself(ctl("half-way")).status, 0);
  const std::string report = dir_.file("r.json");
  ASSERT_EQ(run({"heaptape", "replay", tape_path(), "-a", "model:ptmalloc", "-o", report}).status,
            0);
  const auto gate = [&report](const std::string& text) {
    return run({"heaptape", "diff", report, report, "--fail-if", text});
  };
  EXPECT_EQ(gate("atMark.half-way.account.unexplainedBytes != 0").status, 0);
  EXPECT_EQ(gate("atMark.half-way.liveBytes < 1 MiB").status, 1) << "though there is more";
  EXPECT_NE(gate("atMark.other.liveBytes > 1").out.find("no compared run has"), std::string::npos);
}

TEST_F(RecordMarks, AreRefusedForProcessesThatNobodyRecords) {
  const Ended ended = run({"heaptape", "ctl", "1", "mark", "one"});
  EXPECT_EQ(ended.status, 2);
  EXPECT_NE(ended.err.find("none of your recorders is recording process 1"), std::string::npos)
      << ended.err;
}

}  // namespace
}  // namespace heaptape::tests
