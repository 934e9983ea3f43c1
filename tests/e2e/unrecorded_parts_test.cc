// Programs of which a part cannot be recorded, or that are not what they seem to be.
#include <filesystem>

#include "schema/heap_remedies.h"
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

struct InnerProgram {
  const char* name;
  const char* family;
};

class InnerAllocator : public UnrecordedParts, public testing::WithParamInterface<InnerProgram> {};

// The rest of the program is recorded.
TEST_P(InnerAllocator, IsAPartOfAProgram) {
  const std::string program = target_path("inner_" + std::string(GetParam().name));
  const Ended ended = record({program});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  EXPECT_EQ(read_tape().mallocs_of(100), 1u);
  const auto unrecorded = manifest().unrecorded;
  ASSERT_EQ(unrecorded.size(), 1u);
  EXPECT_EQ(unrecorded[0].program, std::filesystem::canonical(program));
  EXPECT_EQ(unrecorded[0].reason, "has " + std::string(GetParam().family) + " inside");
  EXPECT_EQ(unrecorded[0].times, 1u);
  EXPECT_EQ(ended.err.find("not recorded: "), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("not seen: calls to "), std::string::npos) << ended.err;
}

TEST_P(InnerAllocator, IsNamedWhereverTheTapeIsShown) {
  const std::string program =
      std::filesystem::canonical(target_path("inner_" + std::string(GetParam().name)));
  ASSERT_EQ(record({program}).status, 0);
  const std::string sentence =
      "not seen: calls to " + std::string(GetParam().family) + " inside '" + program + "'";
  const auto files = read_tape().summary.inner_allocators;
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].file, program);
  EXPECT_EQ(schema::heaps_text(files[0].families), GetParam().family);
  for (const Words& command : {Words{"info"},
                               {"verify"},
                               {"replay", "-a", "model:bump"},
                               {"explain", "-a", "model:bump", "--at", "end"},
                               {"stats"}}) {
    Words words{heaptape_path(), command[0], tape_path()};
    words.insert(words.end(), command.begin() + 1, command.end());
    const Ended shown = run_command(words);
    EXPECT_EQ(shown.status, 0) << shown.describe();
    EXPECT_NE(shown.out.find(sentence + "\n"), std::string::npos) << shown.describe();
  }
  const std::string json = "\"innerAllocators\": [{ \"file\": \"" + program + "\"";
  for (const Words& command :
       {Words{"info"}, {"stats"}, {"explain", "-a", "model:bump", "--at", "end"}}) {
    Words words{heaptape_path(), command[0], tape_path(), "--json"};
    words.insert(words.end(), command.begin() + 1, command.end());
    const Ended shown = run_command(words);
    EXPECT_NE(shown.out.find(json), std::string::npos) << shown.describe();
  }
  const std::string report = dir_.file("report.json");
  run_command({heaptape_path(), "replay", tape_path(), "-a", "noop", "-o", report});
  EXPECT_NE(read_bytes(report).find(json), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Of, InnerAllocator,
    testing::Values(InnerProgram{"jemalloc", "jemalloc"}, InnerProgram{"mimalloc", "mimalloc"},
                    InnerProgram{"tcmalloc", "tcmalloc"},
                    InnerProgram{"both", "jemalloc and mimalloc"},
                    InnerProgram{"free_threaded", "mimalloc"}, InnerProgram{"pymalloc", "pymalloc"},
                    InnerProgram{"go", "the Go heap"}, InnerProgram{"java", "the Java heap"},
                    InnerProgram{"v8", "the V8 heap"}, InnerProgram{"php", "the PHP heap"},
                    InnerProgram{"ruby", "the Ruby heap"}, InnerProgram{"gcc", "the GCC heap"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_F(UnrecordedParts, AreNoAllocatorThatCpythonHasButDoesNotUse) {
  const Ended ended = record({target_path("inner_cpython")});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  EXPECT_TRUE(manifest().unrecorded.empty()) << ended.err;
}

TEST_F(UnrecordedParts, AreNoPymallocThatPythonDoesNotUse) {
  for (const char* const setting : {"PYTHONMALLOC=malloc", "PYTHONMALLOC=malloc_debug"}) {
    ASSERT_EQ(record(CommandLine{{target_path("inner_pymalloc")}, {setting}}).status, 0);
    EXPECT_TRUE(read_tape().summary.inner_allocators.empty()) << setting;
    EXPECT_TRUE(manifest().unrecorded.empty()) << setting;
  }
  ASSERT_EQ(record(CommandLine{{target_path("inner_pymalloc")}, {"PYTHONMALLOC=pymalloc"}}).status,
            0);
  EXPECT_EQ(read_tape().summary.inner_allocators.size(), 1u);
}

TEST_F(UnrecordedParts, AreTheObjectsOfPython) {
  ASSERT_EQ(record({"/usr/bin/python3", "-c", "import time; time.sleep(0.2)"}).status, 0);
  const auto files = read_tape().summary.inner_allocators;
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].families, std::vector<std::string>{"pymalloc"});
}

TEST_F(UnrecordedParts, AreNotThoseOfTheProgramBeforeAnExec) {
  const std::string next = target_path("inner_cpython");
  ASSERT_EQ(record({target_path("inner_jemalloc"), next}).status, 0);
  const std::vector<Tape> tapes = read_tapes();
  ASSERT_EQ(tapes.size(), 2u);
  for (const Tape& tape : tapes) {
    const bool is_next = tape.header.executable == std::filesystem::canonical(next);
    EXPECT_EQ(tape.summary.inner_allocators.size(), is_next ? 0u : 1u) << tape.header.executable;
  }
}

// The process lives on as a program that is not recorded.
TEST_F(UnrecordedParts, AreNotThoseOfTheProgramAfterAnExec) {
  ASSERT_EQ(record({target_path("inner_cpython"), target_path("inner_static")}).status, 0);
  const Tape tape = read_tape();
  EXPECT_TRUE(tape.summary.inner_allocators.empty());
  EXPECT_EQ(tape.summary.end_reason, schema::EndReason::kReplaced);
}

// ext4 gives the inode of a removed file to the next one.
TEST_F(UnrecordedParts, AreThoseOfTheFileThatIsThereNow) {
  const std::string copy = dir_.file("copy");
  const std::string script = "for i in 1 2 3; do for p in cpython jemalloc; do cp " +
                             target_path("inner_") + "$p " + copy + "; " + copy +
                             " >/dev/null; rm " + copy + "; done; done";
  ASSERT_EQ(record({"sh", "-c", script}).status, 0);
  const auto unrecorded = manifest().unrecorded;
  ASSERT_EQ(unrecorded.size(), 1u);
  EXPECT_EQ(unrecorded[0].times, 3u);
}

TEST_F(UnrecordedParts, AreFoundInFilesWithALineFeedInTheirNames) {
  std::filesystem::create_directory(dir_.file("a\nb"));
  const std::string copy = dir_.file("a\nb/copy");
  std::filesystem::copy_file(target_path("inner_jemalloc"), copy);
  ASSERT_EQ(record({copy}).status, 0);
  const auto files = read_tape().summary.inner_allocators;
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].file, copy);
}

// As build systems make them. Nothing of it is unrecorded.
TEST_F(UnrecordedParts, AreNoProgramsWithLongPaths) {
  std::string name;
  for (int level = 0; level < 4; ++level) {
    name += std::string(200, 'd') + "/";
    std::filesystem::create_directory(dir_.file(name));
  }
  const std::string program = dir_.file(name + "program");
  std::filesystem::copy_file(target_path("inner_cpython"), program);
  ASSERT_EQ(record({program}).status, 0);
  EXPECT_EQ(read_tape().header.executable, program);
  EXPECT_TRUE(manifest().unrecorded.empty());
}

// It serves the whole process, and is recorded as that.
TEST_F(UnrecordedParts, AreNoAllocatorsThatServeMalloc) {
  const std::string program = target_path("beside_malloc");
  const Ended ended = record(CommandLine{.words = {program, "1", "1", "1"},
                                         .environment = {"LD_PRELOAD=libjemalloc.so.2"}});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  EXPECT_EQ(read_tape().header.recorded_allocator.family, "jemalloc");
  EXPECT_TRUE(manifest().unrecorded.empty());
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
