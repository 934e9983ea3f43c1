// Recordings inside a container, and of one from outside. docs/howto-record.md, "In a container".
#include <algorithm>
#include <filesystem>

#include "tests/e2e/memory_group.h"
#include "tests/e2e/minimal_root.h"
#include "tests/e2e/record_fixture.h"

namespace heaptape::tests {
namespace {

constexpr int kTimeLimitSeconds = 40;  // of programs that need a second or two

class ContainerTest : public RecordTest {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "a sanitized heaptape needs more than a minimal root";
    if (const std::string reason = no_namespaces(); !reason.empty()) GTEST_SKIP() << reason;
  }
  // Tapes of children of `processes many`, with all their calls.
  static int64_t whole_children(const std::vector<Tape>& tapes) {
    return std::ranges::count_if(
        tapes, [](const Tape& t) { return t.mallocs_of(201) == 3 && t.frees_of(201) == 3; });
  }
};

class RecordInside : public ContainerTest {
 protected:
  // Records `command` in a container that has no /proc and no /dev, and whose root is read-only but
  // for one folder.
  Ended record_inside(const std::string& command,
                      const std::string& tape = std::string(kInnerTapes) + "/run.tape") const {
    const std::string root = root_.path();
    return run_command(
        {.words = in_namespaces("mount --bind " + root + " " + root + "; mount --bind " +
                                dir_.path().string() + " " + root_.outer(kInnerTapes) +
                                "; mount -o remount,bind,ro " + root + "; exec chroot " + root +
                                " " + kInnerHeaptape + " record -o " + tape + " -- " + command),
         .time_limit_seconds = kTimeLimitSeconds});
  }

  MinimalRoot root_{MinimalRoot::Heaptape::kYes, {"/bin/sh", target_path("processes")}};
};

TEST_F(RecordInside, RecordsAThousandForks) {
  const Ended ended = record_inside("/bin/processes many 1000");
  ASSERT_EQ(ended.status, 0) << ended.describe();
  EXPECT_EQ(ended.err, "");
  EXPECT_EQ(whole_children(read_tapes()), 1000);
}

TEST_F(RecordInside, RecordsAShellAndItsChildren) {
  const Ended ended = record_inside(
      "/bin/sh -c 'x=; for i in 1 2 3; do x=$x$(echo $i); done; echo $x; processes fork'");
  ASSERT_EQ(ended.status, 5) << ended.describe();
  EXPECT_EQ(ended.out, "123\n");
  EXPECT_EQ(ended.err, "");
  EXPECT_EQ(tape_that_asks_for(201).mallocs_of(201), 6u);
  EXPECT_TRUE(all_verify());
}

TEST_F(RecordInside, SaysWhereItCannotWrite) {
  expect_refusal(record_inside("/bin/processes leaf 5", "/run.tape"), "/run.tape");
}

class RecordFromOutside : public ContainerTest {
 protected:
  Ended record_of(const std::string& script) const {
    return record({.words = in_namespaces(script), .time_limit_seconds = kTimeLimitSeconds});
  }
  static CommandLine limited(Words words) {
    return {.words = std::move(words), .time_limit_seconds = kTimeLimitSeconds};
  }
};

// More of them than a block of the session has slots: those of the dead are used again.
TEST_F(RecordFromOutside, RecordsEveryForkInAPidNamespace) {
  const Ended ended = record_of("exec " + target_path("processes") + " many 1030");
  ASSERT_EQ(ended.status, 0) << ended.describe();
  EXPECT_EQ(ended.err, "");
  EXPECT_EQ(whole_children(read_tapes()), 1030);
}

TEST_F(RecordFromOutside, RecordsAShellOf300ForksInAPidNamespace) {
  const Ended ended = record_of(
      "exec bash -c 'n=0; for i in {1..300}; do x=$(echo $i); n=$((n + x)); done; "
      "echo $n'");
  ASSERT_EQ(ended.status, 0) << ended.describe();
  EXPECT_EQ(ended.out, "45150\n");
  EXPECT_EQ(ended.err, "");
  EXPECT_GE(read_tapes().size(), 301u);
  EXPECT_TRUE(all_verify());
}

TEST_F(RecordFromOutside, LeavesAProgramAsItIsThatCannotSeeThePreloadLibrary) {
  const MinimalRoot root(MinimalRoot::Heaptape::kNo, {"/bin/sh", target_path("processes")});
  const CommandLine line = limited(
      in_namespaces("exec chroot " + root.path() + " /bin/sh -c '/bin/processes fork; echo $?'"));
  const Ended alone = run_command(line);
  const Ended recorded = record(line);
  EXPECT_EQ(recorded.out, alone.out);
  EXPECT_EQ(recorded.status, alone.status);
  EXPECT_EQ(recorded.err, alone.err +
                              "heaptape: not recorded: 1 x /bin/sh (cannot open the preload "
                              "library); " +
                              tape_path() + ".manifest.json lists all\n");
}

TEST_F(RecordFromOutside, RecordsAProgramThatSeesThePreloadLibraryAtTheSamePath) {
  const MinimalRoot root(MinimalRoot::Heaptape::kNo, {"/bin/sh", target_path("processes")});
  const std::string library = root.outer(preload_path());
  std::filesystem::create_directories(std::filesystem::path(library).parent_path());
  std::filesystem::copy_file(preload_path(), library);
  const Ended ended = record_of("exec chroot " + root.path() + " /bin/processes many 30");
  ASSERT_EQ(ended.status, 0) << ended.describe();
  EXPECT_EQ(ended.err, "");
  EXPECT_EQ(whole_children(read_tapes()), 30);
}

// A container's limit counts the recorder with the program.
class RecordInMemoryGroup : public RecordTest {};

TEST_F(RecordInMemoryGroup, NeedsFewMiBOfAMemoryLimit) {
  if (kSanitized) GTEST_SKIP() << "a sanitized heaptape needs far more memory";
  const MemoryGroup group(12 << 20);
  if (!group.missing().empty()) GTEST_SKIP() << group.missing();
  const Words words = record_words({target_path("thread_lives"), "crowd", "64"});
  const Ended ended = run_command({.words = words, .before_exec = [&group] { group.enter(); }});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  EXPECT_EQ(ended.out, "128\n");
  EXPECT_TRUE(verifies());
}

}  // namespace
}  // namespace heaptape::tests
