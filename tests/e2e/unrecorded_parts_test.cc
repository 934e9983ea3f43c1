// Programs of which a part cannot be recorded, or that are not what they seem to be.
#include <filesystem>

#include "tests/e2e/record_fixture.h"

namespace heaptape::tests {
namespace {

class UnrecordedParts : public RecordTest {};

// It is found by the RUNPATH of the program, as the loader finds it: by the address that dlopen
// returns to.
TEST_F(UnrecordedParts, AreLibrariesOpenedWithDeepBind) {
  const Ended ended = record({target_path("deep_bind_host"), "deep_bind_plugin.so"});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  const auto listed = manifest().unrecorded;
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].program, "deep_bind_plugin.so");
  EXPECT_EQ(listed[0].reason, "opened with RTLD_DEEPBIND");
  EXPECT_EQ(read_tape().mallocs_of(101), 100u);
}

TEST_F(UnrecordedParts, AreLibrariesInANamespaceOfTheirOwn) {
  const Ended ended = record({target_path("deep_bind_host"), "deep_bind_plugin.so", "dlmopen"});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  const auto listed = manifest().unrecorded;
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].reason, "opened in a namespace of its own");
}

TEST_F(UnrecordedParts, AreNoLibrariesThatWereThereBefore) {
  const Ended ended = record({target_path("deep_bind_host"), "libc.so.6", "noload"});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  EXPECT_TRUE(manifest().unrecorded.empty());
}

class RestrictedPrograms : public RecordTest, public testing::WithParamInterface<const char*> {};

// The recorder may say that it lost calls: a filter keeps it from being woken.
TEST_P(RestrictedPrograms, RunAsAlone) {
  const CommandLine line{.words = {target_path("restricted"), GetParam()}};
  const Ended alone = run_command(line);
  const Ended recorded = record(line);
  ASSERT_EQ(alone.out, "done\n") << alone.describe();
  EXPECT_EQ(recorded.out, "done\n") << recorded.describe();
  EXPECT_EQ(recorded.status, 7);
}

TEST_P(RestrictedPrograms, AreRecordedOrTheirCallsCountedAsLost) {
  const bool is_strict = std::string(GetParam()) == "strict";
  const Ended ended = record({target_path("restricted"), GetParam()});
  ASSERT_EQ(ended.status, 7) << ended.describe();
  const Tape tape = read_tape();
  EXPECT_EQ(tape.events.size() + tape.summary.losses.lost_events, is_strict ? 600'002u : 600'000u);
  EXPECT_EQ(tape.events.size() > 1'000, !is_strict);
}

INSTANTIATE_TEST_SUITE_P(Modes, RestrictedPrograms,
                         testing::Values("filter", "filter-call", "filter-again", "strict"));

// Stamps read it.
TEST_F(UnrecordedParts, AreThreadsThatMayNotReadTheTsc) {
  for (const char* mode : {"tsc", "tsc-call"}) {
    const Ended ended = record({target_path("restricted"), mode});
    EXPECT_EQ(ended.out, "done\n") << ended.describe();
    EXPECT_EQ(ended.status, 7);
    EXPECT_GE(read_tape().summary.losses.causes.no_ring, 600'000u);
  }
}

TEST_F(UnrecordedParts, AreProcessesForkedUnderAFilter) {
  const Ended ended = record({target_path("restricted"), "filter-fork"});
  EXPECT_EQ(ended.status, 7) << ended.describe();
  EXPECT_NE(ended.err.find("1 process was not recorded: forked under a system call filter"),
            std::string::npos)
      << ended.err;
  EXPECT_EQ(manifest().processes.size(), 1u);
}

TEST_F(UnrecordedParts, AreProcessesWithALibraryOfAnotherBuild) {
  const std::string python = "/usr/bin/python3";
  if (access(python.c_str(), X_OK) != 0) GTEST_SKIP() << "there is no python3";
  const Ended ended = record(
      {python, "-c",
       "import os, socket, struct\n"
       "name, token = os.environ['HEAPTAPE_SESSION'].split(':')\n"
       "recorder = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
       "recorder.connect('\\0heaptape-' + name)\n"
       "recorder.send(b'hthello1' + struct.pack('<II', 0, os.getpid()) + token.encode())\n"});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  EXPECT_NE(ended.err.find("1 process was not recorded"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("from a different build"), std::string::npos) << ended.err;
}

class OtherStarts : public RecordTest {};

TEST_F(OtherStarts, RecordTheProgramOfALoader) {
  const Ended ended = record({"/lib64/ld-linux-x86-64.so.2", target_path("tell_environment")});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  EXPECT_EQ(read_tape().mallocs_of(301), 1u);
}

TEST_F(OtherStarts, RecordAProgramOfMusl) {
  const std::string program = target_path("two_threads_first_musl");
  if (!std::filesystem::exists(program)) GTEST_SKIP() << "musl is not installed";
  for (int i = 0; i < 10; ++i) {
    const Ended ended = record({program});
    ASSERT_EQ(ended.status, 0) << ended.describe();
    EXPECT_EQ(read_tape().mallocs_of(301), 2000u);
    EXPECT_EQ(read_tape().frees_of(301), 2000u);
  }
}

}  // namespace
}  // namespace heaptape::tests
