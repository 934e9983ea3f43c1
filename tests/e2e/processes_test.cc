// Programs of several processes: a tape for each that is to be followed, and the recording ends
// with the program.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "tests/e2e/record_fixture.h"

namespace heaptape::tests {
namespace {

class RecordProcesses : public RecordTest {
 protected:
  Ended record_mode(const Words& mode_and_arguments, const Words& options = {}) const {
    Words command = {target_path("processes")};
    command.insert(command.end(), mode_and_arguments.begin(), mode_and_arguments.end());
    return record(command, options);
  }
  // As record_mode, of a program that must end well.
  void must_record(const Words& mode_and_arguments, int status = 0, const Words& options = {}) {
    const Ended ended = record_mode(mode_and_arguments, options);
    ASSERT_EQ(ended.status, status) << ended.describe();
    EXPECT_EQ(ended.err, "");
  }
  static int64_t tapes_with(const std::vector<Tape>& tapes, uint64_t size, uint64_t mallocs) {
    return std::ranges::count_if(
        tapes, [=](const Tape& tape) { return tape.mallocs_of(size) == mallocs; });
  }
  static void expect_pairs(const Tape& tape, uint64_t size, uint64_t pairs) {
    EXPECT_EQ(tape.mallocs_of(size), pairs) << "of " << size << " bytes";
    EXPECT_EQ(tape.frees_of(size), pairs) << "of " << size << " bytes";
  }
};

TEST_F(RecordProcesses, GivesAForkedChildATapeOfItsOwn) {
  must_record({"fork"}, 5);
  const auto tapes = read_tapes();
  ASSERT_EQ(tapes.size(), 2u);
  expect_pairs(tapes[0], 101, 4);
  expect_pairs(tapes[0], 201, 0);
  expect_pairs(tapes[1], 201, 6);
  expect_pairs(tapes[1], 101, 0);
  EXPECT_EQ(tapes[1].header.parent_pid, tapes[0].header.pid);
  EXPECT_EQ(tapes[1].header.command_line, tapes[0].header.command_line);
}

TEST_F(RecordProcesses, FollowsVforkAndExec) {
  must_record({"vfork"});
  const auto tapes = read_tapes();
  ASSERT_EQ(tapes.size(), 2u);
  expect_pairs(tapes[0], 101, 8);
  expect_pairs(tapes[0], 103, 2);  // the child's, made on the parent's heap
  expect_pairs(tapes[1], 301, 5);
  EXPECT_TRUE(all_verify());
}

TEST_F(RecordProcesses, FollowsPosixSpawn) {
  must_record({"spawn"});
  ASSERT_EQ(read_tapes().size(), 2u);
  expect_pairs(read_tape(), 101, 4);
  expect_pairs(tape_that_asks_for(301), 301, 5);
}

TEST_F(RecordProcesses, GivesAProgramThatReplacesAnotherATapeOfItsOwn) {
  must_record({"exec"});
  const auto tapes = read_tapes();
  ASSERT_EQ(tapes.size(), 2u);
  EXPECT_EQ(tapes[0].summary.end_reason, schema::EndReason::kReplaced);
  expect_pairs(tapes[0], 101, 4);
  expect_pairs(tapes[1], 301, 5);
  EXPECT_EQ(tapes[1].header.pid, tapes[0].header.pid);
  EXPECT_EQ(tapes[1].summary.end_reason, schema::EndReason::kExited);
}

TEST_F(RecordProcesses, FollowsAShellThatReplacesItself) {
  const Ended ended = record({"/bin/sh", "-c", "exec " + target_path("processes") + " leaf 9"});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  expect_pairs(tape_that_asks_for(301), 301, 9);
}

TEST_F(RecordProcesses, FollowsNoChildIfToldSo) {
  must_record({"fork-exec"}, 0, {"--follow", "none"});
  ASSERT_EQ(read_tapes().size(), 1u);
  expect_pairs(read_tape(), 101, 4);
}

TEST_F(RecordProcesses, FollowsForksButNotExecIfToldSo) {
  must_record({"fork-exec"}, 0, {"--follow", "fork"});
  const auto tapes = read_tapes();
  ASSERT_EQ(tapes.size(), 2u);
  expect_pairs(tapes[1], 201, 6);
  expect_pairs(tapes[1], 301, 0);
}

TEST_F(RecordProcesses, FollowsForksAndExecByDefault) {
  must_record({"fork-exec"});
  ASSERT_EQ(read_tapes().size(), 3u);
  expect_pairs(tape_that_asks_for(201), 201, 6);
  expect_pairs(tape_that_asks_for(301), 301, 5);
}

TEST_F(RecordProcesses, ListsEveryTapeInTheManifest) {
  must_record({"fork-exec"});
  std::vector<std::string> listed;
  for (const auto& process : manifest().processes) listed.push_back(process.tape);
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
    if (entry.path().extension() == ".tape") found.push_back(entry.path().filename());
  }
  std::ranges::sort(listed);
  std::ranges::sort(found);
  EXPECT_EQ(listed, found);
  EXPECT_EQ(manifest().processes.at(0).tape, "run.tape");
}

// Most live too short to be seen alive.
TEST_F(RecordProcesses, RecordsEveryCallOfShortLivedChildren) {
  must_record({"many", "1200"});
  const auto tapes = read_tapes();
  EXPECT_EQ(tapes.size(), 1201u);
  EXPECT_EQ(std::ranges::count_if(tapes, [](const Tape& t) { return t.mallocs_of(201) == 3; }),
            1200);
  EXPECT_EQ(std::ranges::count_if(tapes, [](const Tape& t) { return t.frees_of(201) == 3; }), 1200);
}

TEST_F(RecordProcesses, RecordsMoreChildrenThanItMayHaveFilesOpen) {
  const Words words = record_words({target_path("processes"), "crowd", "100"});
  const Ended ended = run_command(CommandLine{.words = words, .before_exec = [] {
                                                rlimit limit{};
                                                getrlimit(RLIMIT_NOFILE, &limit);
                                                limit.rlim_cur = 64;
                                                setrlimit(RLIMIT_NOFILE, &limit);
                                              }});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  const auto tapes = read_tapes();
  EXPECT_EQ(std::ranges::count_if(tapes, [](const Tape& t) { return t.mallocs_of(201) == 3; }),
            100);
}

TEST_F(RecordProcesses, RecordsMoreProcessesThanItCanEverHaveFilesOpen) {
  const Words words = record_words({target_path("processes"), "crowd", "100"});
  const Ended ended = run_command(CommandLine{.words = words, .before_exec = [] {
                                                const rlimit limit{32, 32};
                                                setrlimit(RLIMIT_NOFILE, &limit);
                                              }});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  EXPECT_EQ(ended.err, "");
  const auto tapes = read_tapes();
  EXPECT_EQ(std::ranges::count_if(tapes, [](const Tape& t) { return t.mallocs_of(201) == 3; }),
            100);
}

// More than there can be pools: the others share one.
TEST_F(RecordProcesses, RecordsThousandsThatLiveAtOnce) {
  const Words words =
      record_words({target_path("processes"), "crowd", "2500"}, {"--on-full", "drop"});
  const Ended ended = run_command(CommandLine{.words = words, .before_exec = [] {
                                                const rlimit limit{1024, 1024};
                                                setrlimit(RLIMIT_NOFILE, &limit);
                                              }});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  EXPECT_EQ(manifest().processes.size(), 2501u);
  EXPECT_EQ(ended.err, "");
}

TEST_F(RecordProcesses, LeavesSignalsAndMappingsAsTheyWereBeforeAFork) {
  must_record({"neat", "200"});
}

TEST_F(RecordProcesses, RecordsChildrenForkedAmongBusyThreads) {
  must_record({"threads", "40"});
  const auto tapes = read_tapes();
  EXPECT_EQ(std::ranges::count_if(tapes, [](const Tape& t) { return t.mallocs_of(201) == 50; }),
            40);
  EXPECT_TRUE(verifies());
}

TEST_F(RecordProcesses, KeepsTheRingOfAThreadWhoseFirstCallItsVforkChildMade) {
  must_record({"vfork-first"});
  expect_pairs(read_tape(), 103, 1 + 8 * 50);
  expect_pairs(read_tape(), 101, 8 * 50);
  EXPECT_TRUE(verifies());
}

TEST_F(RecordProcesses, KeepsTheRingsOfAForkedPidNamespace) {
  const Ended ended = record_mode({"pid-namespace"});
  if (ended.status == 99) GTEST_SKIP() << "needs the right to make a pid namespace";
  ASSERT_EQ(ended.status, 0) << ended.describe();
  const Tape child = tape_that_asks_for(201);
  expect_pairs(child, 201, 6);
  expect_pairs(child, 103, 1 + 8 * 50);
}

TEST_F(RecordProcesses, RecordsAProgramThatClosesEveryDescriptor) {
  const std::string file = dir_.file("written");
  must_record({"close", file});
  EXPECT_EQ(read_bytes(file), std::string(200, 'x'));
  expect_pairs(read_tape(), 101, 200 * 500);
  EXPECT_TRUE(verifies());
}

// In a library's handler of forks.
TEST_F(RecordProcesses, RecordsAChildThatCallsMallocBeforeForkReturns) {
  const Ended ended = record({target_path("processes_early"), "fork"});
  ASSERT_EQ(ended.status, 5) << ended.describe();
  const auto tapes = read_tapes();
  ASSERT_EQ(tapes.size(), 2u);
  expect_pairs(tapes[1], 207, 1);
  expect_pairs(tapes[1], 201, 6);
}

// These share the pool of their parent.
TEST_F(RecordProcesses, RecordsChildrenOfBareSystemCallsAndTheirChildren) {
  must_record({"bare"});
  const auto tapes = read_tapes();
  ASSERT_EQ(tapes.size(), 8u);
  EXPECT_EQ(tapes_with(tapes, 201, 6), 1);
  EXPECT_EQ(tapes_with(tapes, 203, 2), 3);
  EXPECT_EQ(tapes_with(tapes, 205, 2), 3);
  EXPECT_TRUE(all_verify());
}

TEST_F(RecordProcesses, RecordsTheChildrenOfChildrenThatMadeNoCall) {
  must_record({"generations"});
  const auto tapes = read_tapes();
  ASSERT_EQ(tapes.size(), 3u);
  EXPECT_EQ(tapes_with(tapes, 201, 3), 2);
  EXPECT_EQ(tapes[1].header.parent_pid, tapes[0].header.pid);
  EXPECT_EQ(tapes[2].header.parent_pid, tapes[1].header.pid);
}

TEST_F(RecordProcesses, RecordsTheChildrenOfThreadsThatForkAtTheSameTime) {
  must_record({"fork-in-threads"});
  const auto tapes = read_tapes();
  EXPECT_EQ(tapes.size(), 81u);
  EXPECT_EQ(tapes_with(tapes, 201, 3), 80);
}

TEST_F(RecordProcesses, RecordsChildrenThatAreForkedInAnotherNetwork) {
  const Ended ended = record_mode({"network"});
  if (ended.status == 99) GTEST_SKIP() << "needs the right to make a network namespace";
  ASSERT_EQ(ended.status, 0) << ended.describe();
  const auto tapes = read_tapes();
  EXPECT_EQ(tapes.size(), 4u);
  EXPECT_EQ(tapes_with(tapes, 201, 6), 3);
}

TEST_F(RecordProcesses, RecordsAProgramThatDropsItsPrivileges) {
  if (!is_root()) GTEST_SKIP() << "needs privileges to drop";
  const Ended ended = record_mode({"drop"});
  if (ended.status == 96) GTEST_SKIP() << "others may not execute programs of this build tree";
  ASSERT_EQ(ended.status, 0) << ended.describe();
  expect_pairs(read_tape(), 101, 8);
  expect_pairs(tape_that_asks_for(201), 201, 6);
  expect_pairs(tape_that_asks_for(301), 301, 5);
}

TEST_F(RecordProcesses, RecordsAProgramThatChangesItsRoot) {
  if (!is_root()) GTEST_SKIP() << "needs the right to change the root";
  std::filesystem::create_directory(dir_.file("empty"));
  must_record({"chroot", dir_.file("empty")});
  expect_pairs(read_tape(), 101, 4);
  expect_pairs(tape_that_asks_for(201), 201, 6);
}

TEST_F(RecordProcesses, RecordsWhatASignalHandlerAllocates) {
  must_record({"signal"});
  expect_pairs(read_tape(), 103, 500);
  expect_pairs(read_tape(), 101, 500);
}

// They come from no allocator that could take them back.
TEST_F(RecordProcesses, LetsAProgramKeepBlocksFromBeforeItWasRecorded) {
  if (kSanitized) GTEST_SKIP() << "built with a sanitizer, the program cannot jump to dlsym(3)";
  const Ended ended = record({target_path("early_blocks")});
  ASSERT_EQ(ended.status, 0) << ended.describe();
  const Tape tape = read_tape();
  expect_pairs(tape, 1001, 2);
  expect_pairs(tape, 1003, 2);
  EXPECT_GE(tape.summary.bootstrap_calls, 6u);
  EXPECT_EQ(tape.summary.unknown_frees, 0u);
  EXPECT_TRUE(verifies());
}

TEST_F(RecordProcesses, EndsWithTheProgramAndNotWithItsDaemon) {
  const Ended ended = record_mode({"daemon", dir_.path()}, {});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  EXPECT_TRUE(wait_until([this] { return access(dir_.file("started").c_str(), F_OK) == 0; }));
  EXPECT_NE(access(dir_.file("ended").c_str(), F_OK), 0);
  write_bytes(dir_.file("stop"), "");
  EXPECT_TRUE(wait_until([this] { return access(dir_.file("ended").c_str(), F_OK) == 0; }))
      << "the daemon came to harm";
  expect_pairs(read_tape(), 101, 4);
}

// Of its parent and its sibling it shares only the lobby, on which no call depends.
TEST_F(RecordProcesses, AreRecordedThoughAChildWritesOverAllThatItCanReach) {
  const Ended ended = record({target_path("scribble")});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  const Tape tape = read_tape();
  expect_pairs(tape, 101, 500'000);
  expect_pairs(tape, 103, 1000);
  EXPECT_EQ(tape.summary.losses.lost_events, 0u);
  EXPECT_TRUE(verifies());
  const Tape sibling = tape_that_asks_for(201);
  expect_pairs(sibling, 201, 500);
  EXPECT_EQ(sibling.summary.losses.lost_events, 0u);
}

TEST_F(RecordProcesses, AreRecordedThoughAChildThatIsNotWritesOverAllThatItCanReach) {
  const Ended ended = record({target_path("scribble")}, {"--follow", "none"});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  const Tape tape = read_tape();
  expect_pairs(tape, 101, 500'000);
  EXPECT_EQ(tape.summary.losses.lost_events, 0u);
}

}  // namespace
}  // namespace heaptape::tests
