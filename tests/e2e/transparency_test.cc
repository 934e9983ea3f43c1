// Recording changes nothing that a program says, how it ends, or what it finds when it starts.
// Over 300 lines, because one fixture serves all of them.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "tests/e2e/record_fixture.h"
#include "tests/support/programs.h"

namespace heaptape::tests {
namespace {

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::ranges::sort(lines);
  return lines;
}

bool in_path(const std::string& program) {
  return run_command({"sh", "-c", "command -v " + program}).status == 0;
}

// Debian's, where it is there: what PATH finds first may be a script that looks for one.
std::string python() {
  return access("/usr/bin/python3", X_OK) == 0 ? "/usr/bin/python3" : "python3";
}

class RecordedPrograms : public RecordTest {
 protected:
  // The events of all processes, each of which must have a tape without a fault.
  uint64_t events_of_all() const {
    EXPECT_TRUE(all_verify());
    uint64_t events = 0;
    for (const auto& process : manifest().processes) events += process.events;
    return events;
  }
  // Whether the manifest has an executable with `part` in its name.
  bool ran(const std::string& part) const {
    return std::ranges::any_of(manifest().processes, [&part](const auto& process) {
      return process.executable.find(part, process.executable.rfind('/')) != std::string::npos;
    });
  }
  static CommandLine surroundings(std::function<void()> before_exec, int out = STDOUT_FILENO) {
    return {.words = {target_path("surroundings"), std::to_string(out)},
            .before_exec = std::move(before_exec)};
  }
};

TEST_F(RecordedPrograms, PythonLoadsJsonAsEver) {
  if (!in_path(python())) GTEST_SKIP() << "needs python3";
  const CommandLine line{
      .words = {python(), "-c",
                "import json\n"
                "text = json.dumps([{'id': i, 'name': 'n%d' % i} for i in range(5000)])\n"
                "print(sum(len(r['name']) for r in json.loads(text)))\n"},
      .environment = {"PYTHONMALLOC=malloc"}};
  EXPECT_RECORDING_CHANGES_NOTHING(line);
  EXPECT_GT(events_of_all(), 50'000u);
}

TEST_F(RecordedPrograms, SqliteReadsItsInputAsEver) {
  if (!in_path("sqlite3")) GTEST_SKIP() << "needs sqlite3";
  const CommandLine line{
      .words = {"sqlite3", ":memory:"},
      .input =
          "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);\n"
          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)\n"
          "  INSERT INTO t SELECT i, hex(i * 7919) FROM n;\n"
          "CREATE INDEX v ON t(v);\n"
          "SELECT count(*), max(v) FROM t;\n"
          "SELECT nonsense;\n"};
  EXPECT_RECORDING_CHANGES_NOTHING(line);
  EXPECT_GT(events_of_all(), 2'000u);
}

TEST_F(RecordedPrograms, PrintNoLoaderMessagesOfOurs) {
  EXPECT_RECORDING_CHANGES_NOTHING((CommandLine{.words = {target_path("dlerror_kept")}}));
}

// C.UTF-8 is the locale that glibc has without any package.
TEST_F(RecordedPrograms, MayMakeTheirFirstCallInsideSetlocale) {
  EXPECT_RECORDING_CHANGES_NOTHING((CommandLine{.words = {target_path("locale_first")},
                                                .environment = {"LC_ALL=C.UTF-8"},
                                                .time_limit_seconds = 10}));
  EXPECT_EQ(read_tape().mallocs_of(101), 3u);
}

TEST_F(RecordedPrograms, AreShellsUnderALocale) {
  EXPECT_RECORDING_CHANGES_NOTHING((CommandLine{.words = {"bash", "-c", "ls / | sort; exit 7"},
                                                .environment = {"LC_ALL=C.UTF-8"},
                                                .time_limit_seconds = 10}));
  EXPECT_TRUE(all_verify());
}

TEST_F(RecordedPrograms, GccHasATapeForEachOfItsPrograms) {
  if (!in_path("g++")) GTEST_SKIP() << "needs g++";
  const std::string source = dir_.file("source.cc");
  const std::string object = dir_.file("object.o");
  write_bytes(source, "int answer(int x) { int unused; return x * 42; }\n");
  const CommandLine line{.words = {"g++", "-c", "-Wall", source, "-o", object}};
  const Ended alone = run_command(line);
  const std::string compiled_alone = read_bytes(object);
  const Ended recorded = record(line);
  EXPECT_EQ(recorded.out, alone.out);
  EXPECT_TRUE(recorded.err.starts_with(alone.err)) << recorded.err;
  const std::string ours = recorded.err.substr(std::min(alone.err.size(), recorded.err.size()));
  EXPECT_TRUE(ours.empty() || ours.starts_with("heaptape: not seen: calls to the GCC heap"))
      << ours;
  EXPECT_EQ(recorded.status, alone.status);
  EXPECT_NE(alone.err, "") << "a warning was to be compared";
  EXPECT_EQ(read_bytes(object), compiled_alone);
  EXPECT_EQ(manifest().processes.size(), 3u);
  for (const char* part : {"g++", "cc1plus", "as"}) EXPECT_TRUE(ran(part)) << part;
  EXPECT_GT(events_of_all(), 3'000u);
}

TEST_F(RecordedPrograms, AShellHasItsPipelineAndItsStatus) {
  const CommandLine line{.words = {"sh", "-c", "ls /usr /nowhere | sort; exit 3"}};
  EXPECT_RECORDING_CHANGES_NOTHING(line);
  EXPECT_TRUE(ran("ls"));
  EXPECT_TRUE(ran("sort"));
  EXPECT_GT(events_of_all(), 0u);
}

TEST_F(RecordedPrograms, ReadAPipe) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += std::to_string(i * 7919 % 10007) + "\n";
  const CommandLine line{.words = {"sort", "-n"}, .input = text};
  EXPECT_RECORDING_CHANGES_NOTHING(line);
  EXPECT_GT(events_of_all(), 0u);
}

TEST_F(RecordedPrograms, EndAsTheyDo) {
  for (const char* how :
       {"return", "exit", "_exit", "quick_exit", "abort", "trap", "fault", "overflow", "thread"}) {
    SCOPED_TRACE(how);
    const CommandLine line{.words = {target_path("endings"), how}};
    EXPECT_RECORDING_CHANGES_NOTHING(line);
    EXPECT_EQ(read_tape().mallocs_of(101), 1u);
    EXPECT_TRUE(verifies());
  }
}

TEST_F(RecordedPrograms, DieOfTheSignalsThatTheyDieOf) {
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGPIPE, SIGALRM, SIGTERM, SIGUSR1,
                           SIGUSR2, SIGXCPU, SIGRTMIN, SIGCHLD, SIGCONT}) {
    SCOPED_TRACE(signal);
    const CommandLine line{.words = {target_path("endings"), "kill", std::to_string(signal)}};
    EXPECT_RECORDING_CHANGES_NOTHING(line);
    EXPECT_TRUE(verifies());
  }
}

TEST_F(RecordedPrograms, WriteNoFurtherThanTheirFileLimit) {
  const CommandLine line{.words = {target_path("file_limit"), dir_.file("written")}};
  EXPECT_RECORDING_CHANGES_NOTHING(line);
  EXPECT_EQ(run_command(line).signal, SIGXFSZ);
  CommandLine ignoring = line;
  ignoring.before_exec = [] { signal(SIGXFSZ, SIG_IGN); };
  EXPECT_RECORDING_CHANGES_NOTHING(ignoring);
  EXPECT_EQ(run_command(ignoring).status, 3);
}

// The recorder's memory is shared with the program, but hardly any of it is mapped there.
TEST_F(RecordedPrograms, HaveTheAddressSpaceAndLockedMemoryOfTheirLimits) {
  const CommandLine line{
      .words = {"sh", "-c", "ulimit -v 131072; exec " + target_path("locked_memory")}};
  EXPECT_RECORDING_CHANGES_NOTHING(line);
  EXPECT_NE(run_command(line).out.find("large yes"), std::string::npos);
  EXPECT_EQ(tape_that_asks_for(64 << 20).mallocs_of(101), 1u);
  EXPECT_TRUE(all_verify());
}

TEST_F(RecordedPrograms, FindTheirSurroundingsAsTheyAre) {
  const CommandLine line = surroundings({});
  EXPECT_RECORDING_CHANGES_NOTHING(line);
}

TEST_F(RecordedPrograms, InheritDescriptors) {
  const CommandLine line = surroundings([] {
    dup2(STDIN_FILENO, 3);
    dup2(STDERR_FILENO, 200);
    fcntl(200, F_SETFD, 0);
  });
  EXPECT_RECORDING_CHANGES_NOTHING(line);
}

TEST_F(RecordedPrograms, InheritSignalsThatAreBlockedOrIgnored) {
  const CommandLine line = surroundings([] {
    for (const int ignored : {SIGCHLD, SIGPIPE, SIGXFSZ, SIGINT, SIGRTMAX}) {
      signal(ignored, SIG_IGN);
    }
    sigset_t blocked;
    sigemptyset(&blocked);
    for (const int signal : {SIGTERM, SIGUSR1, SIGRTMIN}) sigaddset(&blocked, signal);
    sigprocmask(SIG_BLOCK, &blocked, nullptr);
  });
  EXPECT_RECORDING_CHANGES_NOTHING(line);
}

TEST_F(RecordedPrograms, InheritLimitsMaskAndPriority) {
  const CommandLine line = surroundings([] {
    umask(0137);
    [[maybe_unused]] const int nicer = nice(3);
    for (const auto& [resource, value] : {std::pair{RLIMIT_NOFILE, 64}, {RLIMIT_MSGQUEUE, 4096}}) {
      rlimit limit{};
      getrlimit(resource, &limit);
      limit.rlim_cur = static_cast<rlim_t>(value);
      setrlimit(resource, &limit);
    }
  });
  EXPECT_RECORDING_CHANGES_NOTHING(line);
}

// The recorder must not put a file of its own in their place, for the program or for itself.
TEST_F(RecordedPrograms, FindStandardDescriptorsClosedThatAreClosed) {
  const CommandLine without_input = surroundings([] { close(STDIN_FILENO); });
  EXPECT_RECORDING_CHANGES_NOTHING(without_input);
  const CommandLine without_output =
      surroundings([] { close(STDIN_FILENO), close(STDOUT_FILENO); }, STDERR_FILENO);
  EXPECT_RECORDING_CHANGES_NOTHING(without_output);
  const CommandLine without_any = surroundings(
      [] {
        dup2(STDOUT_FILENO, 9);
        for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(fd);
      },
      9);
  EXPECT_RECORDING_CHANGES_NOTHING(without_any);
  EXPECT_TRUE(verifies());
}

TEST_F(RecordedPrograms, HaveTheirEnvironment) {
  CommandLine line = surroundings({});
  for (int i = 0; i < 2000; ++i) {
    line.environment.push_back("VARIABLE_" + std::to_string(i) + "=" + std::to_string(i) + ":=x");
  }
  line.environment.insert(line.environment.end(),
                          {"EMPTY=", "LD_PRELOADED=1", "LINES=a\nb", "HEAPTAPE_SESSION_OF_MINE=2"});
  EXPECT_RECORDING_CHANGES_NOTHING(line);
}

// docs/howto-record.md, "When it cannot work". The order of the variables may be another.
TEST_F(RecordedPrograms, SeeNoTraceOfTheRecorderUnlessItFollowsWhatTheyExecute) {
  for (const char* preloaded : {"LD_PRELOAD_NOT=1", "LD_PRELOAD=libpthread.so.0"}) {
    if (kSanitized && std::string_view(preloaded).starts_with("LD_PRELOAD=")) continue;
    const CommandLine line{.words = {"env"}, .environment = {preloaded}};
    for (const char* follow : {"none", "fork"}) {
      const Ended recorded = record(line, {"--follow", follow});
      EXPECT_EQ(sorted_lines(recorded.out), sorted_lines(run_command(line).out));
      EXPECT_GT(read_tape().events.size(), 0u);
    }
  }
}

TEST_F(RecordedPrograms, SeeTwoVariablesWhenWhatTheyExecuteIsFollowed) {
  const CommandLine line{.words = {"env"}};
  const auto alone = sorted_lines(run_command(line).out);
  const auto recorded = sorted_lines(record(line).out);
  std::vector<std::string> added;
  std::ranges::set_difference(recorded, alone, std::back_inserter(added));
  ASSERT_EQ(added.size(), 2u);
  EXPECT_TRUE(added[0].starts_with("HEAPTAPE_SESSION=")) << added[0];
  EXPECT_EQ(added[1], "LD_PRELOAD=" + preload_path());
}

TEST_F(RecordedPrograms, AreRecordedWhileTheirRecorderIs) {
  if (kSanitized) GTEST_SKIP() << "LD_PRELOAD does not work with a sanitized heaptape";
  const std::string inner = dir_.file("inner.tape");
  const Ended ended =
      record({heaptape_path(), "record", "-o", inner, "--", target_path("endings"), "exit"});
  EXPECT_EQ(ended.status, 2) << ended.describe();
  EXPECT_EQ(read_tape(inner).mallocs_of(101), 1u);
  EXPECT_GT(read_tape().events.size(), 100u);
}

struct Preloaded {
  const char* name;
  const char* library;
  friend void PrintTo(const Preloaded& preloaded, std::ostream* out) { *out << preloaded.name; }
};

class RecordedPreloads : public RecordTest, public testing::WithParamInterface<Preloaded> {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "LD_PRELOAD does not work with a sanitized heaptape";
  }
  CommandLine under_allocator(const Words& words) const {
    return {.words = words, .environment = {std::string("LD_PRELOAD=") + GetParam().library}};
  }
};

TEST_P(RecordedPreloads, NameTheAllocatorOfTheProgram) {
  const CommandLine line = under_allocator({"sh", "-c", "ls /usr | sort; exit 3"});
  EXPECT_RECORDING_CHANGES_NOTHING(line);
  EXPECT_GE(manifest().processes.size(), 3u);
  for (const Tape& tape : read_tapes()) {
    const std::string& path = tape.header.allocator;
    EXPECT_EQ(path.substr(path.rfind('/') + 1), GetParam().library);
  }
}

TEST_P(RecordedPreloads, ServeThePythonOfTheUser) {
  if (!in_path(python())) GTEST_SKIP() << "needs python3";
  CommandLine line =
      under_allocator({python(), "-c", "print(sum(len(str(i)) for i in range(20000)))"});
  line.environment.emplace_back("PYTHONMALLOC=malloc");
  EXPECT_RECORDING_CHANGES_NOTHING(line);
  EXPECT_TRUE(verifies());
}

INSTANTIATE_TEST_SUITE_P(, RecordedPreloads,
                         testing::Values(Preloaded{"glibc", "libc.so.6"},
                                         Preloaded{"jemalloc", "libjemalloc.so.2"},
                                         Preloaded{"mimalloc", tests::mimalloc_library()},
                                         Preloaded{"tcmalloc", "libtcmalloc_minimal.so.4"}));

}  // namespace
}  // namespace heaptape::tests
