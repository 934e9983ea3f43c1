// What cannot be recorded is refused before it runs: exit code 2, one sentence that names the
// culprit and what to do, and no file left behind. Over 300 lines, because one fixture serves all.
#include <elf.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "tests/e2e/record_fixture.h"
#include "tests/support/elf_header.h"

namespace heaptape::tests {
namespace {

constexpr int kNotPermitted = 99;  // of a child that could not be set up

void set_limit(int resource, rlim_t value) {
  const rlimit limit{value, value};
  if (setrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) _exit(kNotPermitted);
}

class Refusals : public RecordTest {
 protected:
  // The path of a new executable file.
  std::string executable(const std::string& content, mode_t mode = 0700) const {
    std::string path = dir_.file("program");
    write_bytes(path, content);
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }

  // Any program would do.
  static Words program() { return {target_path("endings"), "return"}; }

  void expect_no_tape() const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_.path())) {
      EXPECT_EQ(entry.path().string().find(".tape"), std::string::npos) << entry.path();
      EXPECT_EQ(entry.path().string().find(".manifest"), std::string::npos) << entry.path();
    }
  }

  void expect_refusal(const Ended& ended, const std::vector<std::string>& parts) const {
    EXPECT_EQ(ended.status, 2) << ended.describe();
    EXPECT_EQ(ended.out, "");
    EXPECT_TRUE(ended.err.starts_with("heaptape: ")) << ended.err;
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
    EXPECT_TRUE(ended.err.ends_with('\n')) << ended.err;
    for (const std::string& part : parts) {
      EXPECT_NE(ended.err.find(part), std::string::npos) << part << " is not in " << ended.err;
    }
    expect_no_tape();
  }

  void expect_refused(const Words& command, const std::vector<std::string>& parts) const {
    expect_refusal(record(command), parts);
  }
  // `heaptape record` with words of its own.
  void expect_words_refused(const Words& words, const std::vector<std::string>& parts) const {
    Words all = {heaptape_path(), "record"};
    all.insert(all.end(), words.begin(), words.end());
    expect_refusal(run_command(CommandLine{.words = all, .folder = dir_.path()}), parts);
  }
  void expect_output_refused(const std::string& output,
                             const std::vector<std::string>& parts) const {
    expect_words_refused({"-o", output, "--", target_path("endings")}, parts);
  }
  Ended record_after(std::function<void()> before_exec) const {
    return record(CommandLine{.words = program(), .before_exec = std::move(before_exec)});
  }
};

TEST_F(Refusals, OfNoCommand) {
  expect_words_refused({}, {"command", "--help"});
  expect_words_refused({"-o", "run.tape"}, {"command", "--help"});
  expect_words_refused({"-o", "run.tape", "--"}, {"command", "--help"});
}

TEST_F(Refusals, OfUnknownOptions) {
  expect_words_refused({"--loud", "--", "true"}, {"--loud", "--help"});
  expect_words_refused({"-o"}, {"--output", "--help"});
}

TEST_F(Refusals, OfUnknownChoices) {
  for (const char* value : {"some", "", "1", "none,all"}) {
    expect_words_refused({"--follow", value, "--", "true"}, {"--follow", "all|fork|none", value});
    expect_words_refused({"--on-full", value, "--", "true"}, {"--on-full", "block|drop", value});
  }
}

TEST_F(Refusals, OfMissingPrograms) {
  expect_refused({"no-such-program"}, {"'no-such-program'", "PATH"});
  expect_refused({"./no-such-program"}, {"'./no-such-program'", "No such file"});
  expect_refused({""}, {"''"});
  expect_refused({program()[0] + "/x"}, {program()[0] + "/x", "Not a directory"});
}

TEST_F(Refusals, OfFilesThatCannotBeExecuted) {
  const std::string plain = executable("echo hello\n", 0600);
  expect_refused({plain}, {plain, "not an executable file"});
  expect_refused({dir_.path()}, {dir_.path(), "not an executable file"});
  EXPECT_EQ(mkfifo(dir_.file("pipe").c_str(), 0700), 0);
  expect_refused({dir_.file("pipe")}, {dir_.file("pipe"), "not an executable file"});
}

TEST_F(Refusals, OfScriptsWithoutAnInterpreter) {
  const std::string script = executable("#!/no/such/interpreter -x\n");
  expect_refused({script}, {script, "'/no/such/interpreter'", "No such file"});
  const std::string with_tabs = executable("#!\t/no/such/interpreter\t-x\n");
  expect_refused({with_tabs}, {with_tabs, "'/no/such/interpreter'", "No such file"});
}

TEST_F(Refusals, OfStaticPrograms) {
  for (const char* name : {"static_program", "static_pie_program"}) {
    const std::string path = target_path(name);
    expect_refused({path}, {path, "statically linked", "link it dynamically"});
  }
}

TEST_F(Refusals, OfScriptsOfAStaticInterpreter) {
  const std::string interpreter = target_path("static_program");
  if (interpreter.size() > 120) GTEST_SKIP() << "the path is too long for a script's first line";
  expect_refused({executable("#! " + interpreter + "\n")}, {interpreter, "statically linked"});
}

TEST_F(Refusals, OfProgramsThatDefineMalloc) {
  const std::string path = target_path("tell_environment_own_malloc");
  expect_refused({path}, {path, "defines malloc itself", "shared library"});
}

TEST_F(Refusals, OfProgramsWithASanitizer) {
  const std::string path = target_path("tell_environment_asan");
  expect_refused({path}, {path, "a sanitizer", "build it without"});
  expect_refused({"/lib64/ld-linux-x86-64.so.2", path}, {path, "a sanitizer"});
}

// A program that is nothing but its ELF header.
template <typename Header>
std::string elf_program(uint16_t type, uint16_t machine) {
  const auto header = elf_header<Header>(type, machine);
  return {reinterpret_cast<const char*>(&header), sizeof header};
}

TEST_F(Refusals, OfProgramsOfAnotherMachine) {
  const std::string path = executable(elf_program<Elf64_Ehdr>(ET_DYN, EM_AARCH64));
  expect_refused({path}, {path, "a machine other than x86-64"});
}

TEST_F(Refusals, OfProgramsOfAnotherWordSize) {
  const std::string path = executable(elf_program<Elf32_Ehdr>(ET_EXEC, EM_386));
  expect_refused({path}, {path, "a machine other than x86-64"});
}

TEST_F(Refusals, OfProgramsThatChangeTheUser) {
  if (!is_root()) GTEST_SKIP() << "needs the right to give files away";
  const std::string path = executable(read_bytes(program()[0]));
  for (const mode_t mode : {04755, 02755}) {
    EXPECT_EQ(chown(path.c_str(), 65534, 65534), 0);
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    expect_refused({path}, {path, "privileges other than yours", "record it as"});
  }
  EXPECT_EQ(chmod(path.c_str(), 0755), 0);
  EXPECT_EQ(record({path, "return"}).status, 7);
}

TEST_F(Refusals, OfOutputsInAMissingFolder) {
  expect_output_refused("missing/run.tape", {"'missing/run.tape'", "no directory 'missing'"});
  expect_output_refused("missing/", {"'missing/'", "no directory 'missing'"});
  executable("");
  expect_output_refused("program/run.tape", {"'program/run.tape'", "Not a directory"});
}

TEST_F(Refusals, OfOutputsThatAreFolders) {
  expect_output_refused(".", {"'.'", "it is a directory; name a file in it"});
  expect_output_refused(dir_.path(), {"'" + dir_.path().string() + "'", "it is a directory"});
}

// A device, a pipe (which nobody reads), a descriptor. Through links in the test's folder, because
// a recording that is not refused writes its manifest beside them.
TEST_F(Refusals, OfOutputsThatAreNotRegularFiles) {
  std::filesystem::create_symlink("/dev/null", dir_.file("device"));
  std::filesystem::create_symlink("/dev/stdout", dir_.file("descriptor"));
  EXPECT_EQ(mkfifo(dir_.file("pipe").c_str(), 0700), 0);
  for (const char* name : {"device", "descriptor", "pipe"}) {
    expect_output_refused(name, {std::string("'") + name + "'", "name a file in a directory"});
  }
}

// Without that capability, the mode of a folder binds root too.
TEST_F(Refusals, OfOutputsInAReadOnlyFolder) {
  const std::string folder = dir_.file("read-only");
  EXPECT_EQ(mkdir(folder.c_str(), 0500), 0);
  Words words = {heaptape_path(), "record", "-o", folder + "/run.tape", "--"};
  words.push_back(target_path("endings"));
  const Ended ended = run_command(
      CommandLine{.words = words, .before_exec = [] { prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE); }});
  expect_refusal(ended, {"'" + folder + "/run.tape'", "Permission denied"});
}

TEST_F(Refusals, LeaveAnEarlierTapeAsItWas) {
  write_bytes(tape_path(), "an earlier tape");
  EXPECT_EQ(record({target_path("static_program")}).status, 2);
  EXPECT_EQ(record_after([] { set_limit(RLIMIT_FSIZE, 20'000); }).status, 2);
  EXPECT_EQ(read_bytes(tape_path()), "an earlier tape");
  EXPECT_FALSE(std::filesystem::exists(tape_path() + ".partial"));
}

TEST_F(Refusals, OfASecondRecordingOfTheSameName) {
  Command first({.words = record_words({"sh", "-c", "echo begun; read wait"}), .before_exec = [] {
                   int ends[2];
                   if (pipe(ends) != 0 || dup2(ends[0], STDIN_FILENO) != 0) _exit(kNotPermitted);
                 }});
  ASSERT_TRUE(first.wait_for_output("begun"));
  ASSERT_TRUE(wait_until([this] {  // that its tape is there, not only the empty file before it
    std::error_code none;
    const auto bytes = std::filesystem::file_size(tape_path() + ".partial", none);
    return !none && bytes > 0;
  }));
  const Ended second = record(program());
  EXPECT_EQ(second.status, 2) << second.describe();
  EXPECT_NE(second.err.find("another heaptape is writing it"), std::string::npos) << second.err;
  first.send(SIGTERM);
  EXPECT_EQ(first.wait().signal, SIGTERM);
  EXPECT_TRUE(verifies());
}

TEST_F(Refusals, OfFileLimitsBelowWhatARecordingNeeds) {
  expect_refusal(record_after([] { set_limit(RLIMIT_FSIZE, 1 << 20); }), {"MiB", "ulimit -f"});
}

TEST_F(Refusals, OfTooLittleAddressSpace) {
  if (kSanitized) GTEST_SKIP() << "a sanitized heaptape needs terabytes of it";
  expect_refusal(record_after([] { set_limit(RLIMIT_AS, 140 << 20); }), {"MiB", "ulimit -v"});
}

TEST_F(Refusals, OfTooFewThreads) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer starts threads of its own";
  constexpr uid_t kNobodyElses = 54321;  // the limit counts what a user runs already
  if (is_root()) std::filesystem::permissions(dir_.path(), std::filesystem::perms::all);
  const auto record_with = [this](rlim_t threads) {
    return record_after([threads] {
      set_limit(RLIMIT_NPROC, is_root() ? threads : 1);
      if (is_root() && setuid(kNobodyElses) != 0) _exit(kNotPermitted);
    });
  };
  // With 5 the recorder would run, but not the program.
  for (rlim_t threads = 1; threads <= 5; ++threads) {
    const Ended ended = record_with(threads);
    if (ended.status == kNotPermitted) GTEST_SKIP() << "may not change the user";
    expect_refusal(ended, {"threads", "ulimit -u"});
  }
}

TEST_F(Refusals, OfTheProgramAsTheTape) {
  const std::string program = dir_.file("endings");
  std::filesystem::copy_file(target_path("endings"), program);
  const std::string before = tests::read_bytes(program);
  expect_words_refused({"-o", program, "--", program}, {"is the program to record"});
  EXPECT_EQ(tests::read_bytes(program), before);
}

// From the fewest with which the loader finds heaptape's libraries. Never a program that ran and
// was not recorded.
TEST_F(Refusals, OfTooFewDescriptors) {
  if (kSanitized) GTEST_SKIP() << "a sanitized heaptape takes some for itself";
  for (rlim_t limit = 4; limit <= 13; ++limit) {
    SCOPED_TRACE(limit);
    const Ended ended = record_after([limit] {
      close_range(STDERR_FILENO + 1, ~0u, 0);
      set_limit(RLIMIT_NOFILE, limit);
    });
    if (limit < 13) {
      expect_refusal(ended, {"descriptors", "ulimit -n"});
    } else {
      EXPECT_EQ(ended.status, 7) << ended.describe();
      EXPECT_TRUE(verifies());
    }
  }
}

// Runs in a file system of `size` at `folder`, which goes with the command.
void enter_small_disk(const char* folder, const char* size) {
  const bool own = unshare(CLONE_NEWNS) == 0 &&
                   mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                   mount("tmpfs", folder, "tmpfs", 0, size) == 0;
  if (!own) _exit(kNotPermitted);
}

TEST_F(Refusals, OfAFullDisk) {
  const std::string folder = dir_.file("disk");
  EXPECT_EQ(mkdir(folder.c_str(), 0700), 0);
  Words words = {heaptape_path(), "record", "-o", folder + "/run.tape", "--"};
  words.push_back(target_path("endings"));
  const Ended ended = run_command(CommandLine{
      .words = words, .before_exec = [&folder] { enter_small_disk(folder.c_str(), "size=16k"); }});
  if (ended.status == kNotPermitted) GTEST_SKIP() << "needs the right to mount a file system";
  expect_refusal(ended, {folder + "/run.tape", "No space left on device"});
}

// What shows only once the program runs: it goes on undisturbed, and ends as it always does.
using RecordingsThatFail = Refusals;

// The shell copies the tape out of the file system, which nobody else sees.
TEST_F(RecordingsThatFail, OnADiskThatFillsUpKeepTheirBeginning) {
  const std::string folder = dir_.file("disk");
  EXPECT_EQ(mkdir(folder.c_str(), 0700), 0);
  const Ended ended = run_command(CommandLine{
      .words = {"sh", "-c",
                "\"$1\" record -o \"$2/run.tape\" -- \"$3\" 1 3000000; s=$?\n"
                "cp \"$2/run.tape\" \"$4\"; exit $s",
                "sh", heaptape_path(), folder, target_path("thread_exchange"), tape_path()},
      .before_exec = [&folder] { enter_small_disk(folder.c_str(), "size=5m"); }});
  if (ended.status == kNotPermitted) GTEST_SKIP() << "needs the right to mount a file system";
  EXPECT_EQ(ended.status, 0) << ended.describe();
  EXPECT_NE(ended.err.find("the disk is full: '" + folder + "/run.tape'"), std::string::npos)
      << ended.err;
  const Tape tape = read_tape();
  EXPECT_EQ(tape.summary.end_reason, schema::EndReason::kDiskFull);
  EXPECT_GT(tape.events.size(), 10'000u);
  EXPECT_GT(tape.summary.losses.lost_events, 10'000u);
}

TEST_F(RecordingsThatFail, OnAFullDiskSaySoOnceForAllProcesses) {
  const std::string folder = dir_.file("disk");
  EXPECT_EQ(mkdir(folder.c_str(), 0700), 0);
  const Ended ended = run_command(
      CommandLine{.words = {heaptape_path(), "record", "-o", folder + "/run.tape", "--",
                            target_path("processes"), "many", "60"},
                  .before_exec = [&folder] { enter_small_disk(folder.c_str(), "size=64k"); }});
  if (ended.status == kNotPermitted) GTEST_SKIP() << "needs the right to mount a file system";
  EXPECT_EQ(ended.status, 0) << ended.describe();
  EXPECT_NE(ended.err.find("; the same with "), std::string::npos) << ended.err;
  EXPECT_LE(std::ranges::count(ended.err, '\n'), 3) << ended.err;
}

TEST_F(RecordingsThatFail, BecauseNoCallWasSeenSaySo) {
  const Ended ended = record({target_path("no_call")});
  EXPECT_EQ(ended.status, 3);
  EXPECT_EQ(ended.err, "heaptape: no tape: heaptape saw no call to malloc by '" +
                           target_path("no_call") +
                           "': it made none, or runs nothing that is dynamically linked\n");
  expect_no_tape();
}

TEST_F(RecordingsThatFail, BecauseOfACrashBeforeTheFirstCallSaySo) {
  const Ended ended = record({target_path("no_call"), "crash"});
  EXPECT_EQ(ended.signal, SIGILL);
  EXPECT_NE(ended.err.find("no call to malloc"), std::string::npos) << ended.err;
  expect_no_tape();
}

}  // namespace
}  // namespace heaptape::tests
