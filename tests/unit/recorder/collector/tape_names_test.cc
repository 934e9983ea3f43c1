#include "recorder/collector/tape_names.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace heaptape::recorder {
namespace {

ProcessIdentity identity(uint32_t pid, const std::string& executable) {
  return {pid, 1, executable, {}, {}};
}

TEST(TapeNames, GivesTheFirstProcessTheNameAskedFor) {
  EXPECT_EQ(TapeNames("out/run.tape").next(identity(7, "/bin/sh")), "out/run.tape");
  EXPECT_EQ(TapeNames("run").next(identity(7, "/bin/sh")), "run");
}

class LaterTapeNames : public testing::Test {
 protected:
  LaterTapeNames() { names_.next(identity(1, "/bin/first")); }
  TapeNames names_{"out/run.tape"};
};

TEST_F(LaterTapeNames, TellPidAndProgram) {
  EXPECT_EQ(names_.next(identity(7, "/usr/bin/g++-12")), "out/run.7.g++-12.tape");
}

TEST_F(LaterTapeNames, AreNeverTheSameTwice) {
  EXPECT_EQ(names_.next(identity(7, "/bin/sh")), "out/run.7.sh.tape");
  EXPECT_EQ(names_.next(identity(7, "/bin/sh")), "out/run.7.sh.2.tape");
  EXPECT_EQ(names_.next(identity(7, "/bin/sh")), "out/run.7.sh.3.tape");
}

TEST_F(LaterTapeNames, KeepToPlainCharacters) {
  EXPECT_EQ(names_.next(identity(7, "/tmp/\xc3\xa4.b*c")), "out/run.7.___b_c.tape");
}

TEST_F(LaterTapeNames, LeaveOutThatTheProgramsFileIsGone) {
  EXPECT_EQ(names_.next(identity(7, "/tmp/job (deleted)")), "out/run.7.job.tape");
}

TEST_F(LaterTapeNames, DoWithoutAProgramsName) {
  EXPECT_EQ(names_.next(identity(7, "")), "out/run.7.process.tape");
}

TEST_F(LaterTapeNames, AreShortWhateverTheProgramsName) {
  EXPECT_LT(names_.next(identity(7, "/" + std::string(300, 'x'))).size(), 100u);
}

TEST(TapePatterns, HaveProgramTimeAndPid) {
  EXPECT_EQ(*expand_tape_path("a/%n-%%.tape", "server"), "a/server-%.tape");
  EXPECT_EQ(*expand_tape_path("%p", "x"), std::to_string(getpid()));
  const std::string time = *expand_tape_path("%t", "x");
  EXPECT_EQ(time.size(), std::string("20261129T164500Z").size());
  EXPECT_TRUE(time.starts_with("20") && time[8] == 'T' && time.ends_with('Z')) << time;
  EXPECT_EQ(*expand_tape_path("plain.tape", "x"), "plain.tape");
}

TEST(TapePatterns, RefuseWhatStandsForNothing) {
  for (const char* const pattern : {"a%", "%x.tape", "% n"}) {
    const auto path = expand_tape_path(pattern, "x");
    ASSERT_FALSE(path.ok()) << pattern;
    EXPECT_EQ(path.error().code, base::ErrorCode::kUsage);
  }
}

TEST(TapeNames, KeepAnEndingOtherThanTape) {
  TapeNames names("run.x");
  names.next(identity(1, "/bin/first"));
  EXPECT_EQ(names.next(identity(7, "/bin/sh")), "run.x.7.sh.tape");
}

}  // namespace
}  // namespace heaptape::recorder
