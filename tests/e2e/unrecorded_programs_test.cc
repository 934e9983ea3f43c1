// Programs that a recorded one executes: recorded, or run as if heaptape were not there and listed
// with the reason.
#include <elf.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "tests/e2e/record_fixture.h"
#include "tests/support/elf_header.h"

namespace heaptape::tests {
namespace {

namespace fs = std::filesystem;

class UnrecordedPrograms : public RecordTest {
 protected:
  // The words of a program that executes `child` by the function.
  static Words executing(const std::string& function, const Words& child,
                         const Words& options = {}) {
    Words words = {target_path("execute")};
    words.insert(words.end(), options.begin(), options.end());
    words.push_back(function);
    words.insert(words.end(), child.begin(), child.end());
    return words;
  }
  static Words executing(const Words& child) { return executing("execv", child); }

  // Whether `program`, and nothing else, is listed once with this reason.
  testing::AssertionResult lists(const std::string& program, const std::string& reason) const {
    const auto listed = manifest().unrecorded;
    std::string text;
    for (const auto& entry : listed) {
      text += entry.program + ": " + entry.reason + ", " + std::to_string(entry.times) + "\n";
    }
    if (listed.size() == 1 && listed[0].program == program && listed[0].reason == reason &&
        listed[0].times == 1) {
      return testing::AssertionSuccess();
    }
    return testing::AssertionFailure() << "listed are " << text;
  }

  // Runs `words` alone and recorded: nothing may differ but the line that names `program`.
  void expect_left_alone(const Words& words, const std::string& program,
                         const std::string& reason) const {
    const Ended alone = run_command(words);
    const Ended recorded = record(words);
    EXPECT_EQ(recorded.out, alone.out);
    EXPECT_EQ(recorded.status, alone.status) << recorded.describe();
    EXPECT_EQ(recorded.err, alone.err + "heaptape: not recorded: 1 x " + program + " (" + reason +
                                "); " + tape_path() + ".manifest.json lists all\n");
    EXPECT_TRUE(lists(program, reason));
  }

  std::string executable(const std::string& name, const std::string& content) const {
    write_bytes(dir_.file(name), content);
    EXPECT_EQ(chmod(dir_.file(name).c_str(), 0755), 0);
    return dir_.file(name);
  }
};

const Words kExecFunctions = {"execve",   "execv",       "execvp", "execvpe",
                              "execl",    "execlp",      "execle", "fexecve",
                              "execveat", "posix_spawn", "vfork",  "posix_spawnp"};

// Those of them that look for a name in PATH.
const Words kSearchingFunctions = {"execvp", "execvpe", "execlp", "posix_spawnp"};

TEST_F(UnrecordedPrograms, AreLeftAloneByEveryFunctionThatExecutes) {
  const std::string program = target_path("tell_environment_static");
  for (const std::string& function : kExecFunctions) {
    SCOPED_TRACE(function);
    expect_left_alone(executing(function, {program}), program, "statically linked");
  }
}

// A null path is the function's to refuse.
TEST_F(UnrecordedPrograms, MayBeNamedByANullPointer) {
  for (const std::string& function : kExecFunctions) {
    if (function == "execvp" || function == "execvpe" || function == "execlp") continue;  // crash
    const Words words = executing(function, {"null"});
    const Ended alone = run_command(words);
    const Ended recorded = record(words);
    EXPECT_EQ(recorded.out, alone.out);
    EXPECT_EQ(recorded.status, alone.status) << recorded.describe();
  }
}

// Where the recorder's socket does not exist.
TEST_F(UnrecordedPrograms, AreLeftAloneInAnotherNetworkNamespace) {
  const Words isolated = {"unshare", "-r", "-n", target_path("tell_environment")};
  if (run_command(isolated).status != 0) GTEST_SKIP() << "needs user namespaces";
  expect_left_alone(isolated, target_path("tell_environment"),
                    "executed in another network namespace");
}

TEST_F(UnrecordedPrograms, AreNoneThatCanBeRecorded) {
  for (const std::string& function : kExecFunctions) {
    SCOPED_TRACE(function);
    const Ended ended = record(executing(function, {target_path("tell_environment")}));
    EXPECT_EQ(ended.status, 0) << ended.describe();
    EXPECT_EQ(ended.err, "");
    EXPECT_EQ(tape_that_asks_for(301).mallocs_of(301), 1u);
  }
}

TEST_F(UnrecordedPrograms, AreThoseOfASanitizer) {
  const std::string program = target_path("tell_environment_asan");
  expect_left_alone(executing({program}), program, "its malloc is a sanitizer's");
}

TEST_F(UnrecordedPrograms, AreThoseThatDefineMalloc) {
  const std::string program = target_path("tell_environment_own_malloc");
  EXPECT_EQ(record(executing({program})).status, 0);
  EXPECT_TRUE(lists(program, "defines malloc itself"));
}

// The usual line of a service's start script puts its allocator in front of us.
TEST_F(UnrecordedPrograms, AreNoneForAnAllocatorThatIsPreloadedBeforeUs) {
  if (kSanitized) GTEST_SKIP() << "LD_PRELOAD does not work with a sanitized heaptape";
  const std::string line = "LD_PRELOAD=libjemalloc.so.2:$LD_PRELOAD exec ";
  const Ended ended = record({"/bin/sh", "-c", line + target_path("tell_environment")});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  const Tape tape = tape_that_asks_for(301);
  EXPECT_NE(tape.header.allocator.find("jemalloc"), std::string::npos) << tape.header.allocator;
  EXPECT_NE(ended.out.find(":libjemalloc.so.2"), std::string::npos) << ended.out;
}

// It prints its version, and has no loader that could resolve anything for it.
TEST_F(UnrecordedPrograms, AreCLibrariesThatAreRun) {
  const std::string libc = "/lib/x86_64-linux-gnu/libc.so.6";
  if (!fs::exists(libc)) GTEST_SKIP() << "glibc is elsewhere";
  const Ended alone = run_command({libc});
  const Ended recorded = record(executing({libc}));
  EXPECT_EQ(recorded.out, alone.out);
  EXPECT_EQ(recorded.status, alone.status);
  EXPECT_TRUE(lists(libc, "a C library, run as a program"));
}

// As rustc, which runs linkers.
TEST_F(UnrecordedPrograms, ThatDefineMallocHaveTheirChildrenRecorded) {
  const Ended ended = record(executing(
      {target_path("tell_environment_own_malloc"), "-e", target_path("tell_environment")}));
  EXPECT_EQ(ended.status, 0) << ended.describe();
  EXPECT_EQ(tape_that_asks_for(301).mallocs_of(301), 1u);
}

// Executing it, with status 7, is all that the kernel needs: mov eax, 1; mov ebx, 7; int 0x80.
std::string narrow_program() {
  const std::string code("\xb8\1\0\0\0\xbb\7\0\0\0\xcd\x80", 12);
  auto header = elf_header<Elf32_Ehdr>(ET_EXEC, EM_386);
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf32_Phdr);
  header.e_phnum = 1;
  Elf32_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_vaddr = segment.p_paddr = 0x10000;
  segment.p_filesz = segment.p_memsz = sizeof header + sizeof segment + code.size();
  segment.p_flags = PF_R | PF_X;
  header.e_entry = segment.p_vaddr + sizeof header + sizeof segment;
  return std::string(reinterpret_cast<const char*>(&header), sizeof header)
      .append(reinterpret_cast<const char*>(&segment), sizeof segment)
      .append(code);
}

TEST_F(UnrecordedPrograms, AreThoseOfAnotherWordSize) {
  const std::string program = executable("narrow", narrow_program());
  if (run_command({program}).status != 7) GTEST_SKIP() << "this system runs no 32-bit programs";
  expect_left_alone(executing({program}), program, "not built for x86-64");
}

TEST_F(UnrecordedPrograms, AreThoseThatChangeTheUser) {
  if (!is_root()) GTEST_SKIP() << "needs the right to give files away";
  struct statvfs mount{};
  statvfs(dir_.path().c_str(), &mount);
  if ((mount.f_flag & ST_NOSUID) != 0) GTEST_SKIP() << "files here cannot change the user";
  const std::string program = executable("setuid", read_bytes(target_path("tell_environment")));
  EXPECT_EQ(chown(program.c_str(), 65534, 65534), 0);
  EXPECT_EQ(chmod(program.c_str(), 04755), 0);
  EXPECT_EQ(chmod(dir_.path().c_str(), 0755), 0);
  expect_left_alone(executing({program}), program, "runs with other privileges");
}

TEST_F(UnrecordedPrograms, AreNamedAtTheEndOfAChainOfScripts) {
  const std::string program = target_path("tell_environment_static");
  const std::string inner = executable("inner", "#!" + program + "\n");
  const std::string outer = executable("outer", "#! " + inner + " -x\n");
  expect_left_alone(executing({outer}), program, "statically linked");
}

TEST_F(UnrecordedPrograms, AreNamedBehindALoader) {
  const std::string program = target_path("tell_environment_asan");
  expect_left_alone(executing({"/lib64/ld-linux-x86-64.so.2", program}), program,
                    "its malloc is a sanitizer's");
}

TEST_F(UnrecordedPrograms, AreFoundInPathBehindAVeryLongFolder) {
  const std::string program = target_path("tell_environment_static");
  std::string path = "/nowhere";
  while (path.size() < 2000) path += "/further";
  path += ":" + fs::path(program).parent_path().string();
  const Ended ended = record(CommandLine{.words = executing("execvp", {"tell_environment_static"}),
                                         .environment = {"PATH=" + path}});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  EXPECT_TRUE(lists(program, "statically linked"));
}

TEST_F(UnrecordedPrograms, AreFoundInPath) {
  const std::string program = target_path("tell_environment_static");
  const std::string folder = fs::path(program).parent_path();
  for (const std::string& function : kSearchingFunctions) {
    SCOPED_TRACE(function);
    const Ended ended =
        record(CommandLine{.words = executing(function, {"tell_environment_static"}),
                           .environment = {"PATH=/nowhere:" + folder}});
    EXPECT_EQ(ended.out, "preload: none, session: none\n") << ended.describe();
    EXPECT_TRUE(lists(program, "statically linked"));
  }
}

// An empty element of PATH is the working directory.
TEST_F(UnrecordedPrograms, AreFoundInTheWorkingDirectoryWherePathHasAnEmptyElement) {
  const std::string folder = fs::path(target_path("tell_environment_static")).parent_path();
  for (const std::string& function : kSearchingFunctions) {
    for (const char* const path : {"", ":/nowhere", "/nowhere:", "/nowhere::/nowhere/else"}) {
      SCOPED_TRACE(function + " PATH=" + path);
      const Ended ended =
          record(CommandLine{.words = executing(function, {"tell_environment_static"}),
                             .environment = {std::string("PATH=") + path},
                             .folder = folder});
      EXPECT_EQ(ended.out, "preload: none, session: none\n") << ended.describe();
      EXPECT_TRUE(lists("tell_environment_static", "statically linked"));
    }
  }
}

TEST_F(UnrecordedPrograms, KeepWhatOthersPreload) {
  if (kSanitized) GTEST_SKIP() << "LD_PRELOAD does not work with a sanitized heaptape";
  const CommandLine line{.words = executing({target_path("tell_environment_static")}),
                         .environment = {"LD_PRELOAD=libm.so.6 libdl.so.2"}};
  EXPECT_EQ(record(line).out, "preload: libm.so.6 libdl.so.2, session: none\n");
}

TEST_F(UnrecordedPrograms, AreListedWithTheEnvironmentThatTheyGot) {
  const Ended ended = record({"env", "-i", target_path("tell_environment")});
  EXPECT_EQ(ended.out, "preload: none, session: none\n") << ended.describe();
  EXPECT_TRUE(
      lists(target_path("tell_environment"), "executed without HEAPTAPE_SESSION and LD_PRELOAD"));
}

TEST_F(UnrecordedPrograms, AreThoseExecutedUnderAFilter) {
  const std::string program = target_path("tell_environment");
  for (const char* function : {"execv", "posix_spawn"}) {
    expect_left_alone(executing(function, {program}, {"-f"}), program,
                      "executed under a seccomp filter");
  }
}

// A root with the shell, and one program of it, linked statically.
TEST_F(UnrecordedPrograms, AreTheShellsOfSystemAndPopen) {
  if (!is_root()) GTEST_SKIP() << "needs the right to change the root";
  fs::create_directories(dir_.file("root/bin"));
  fs::copy_file(target_path("tell_environment_static"), dir_.file("root/bin/sh"));
  for (const char* function : {"system", "popen"}) {
    SCOPED_TRACE(function);
    expect_left_alone(executing(function, {"true"}, {"-r", dir_.file("root")}), "/bin/sh",
                      "statically linked");
  }
}

TEST_F(UnrecordedPrograms, AreThoseOutOfReachOfThePreloadLibrary) {
  if (!is_root()) GTEST_SKIP() << "needs the right to change the root";
  const std::string root = dir_.file("root");
  for (const char* path : {"/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6"}) {
    if (!fs::exists(path)) GTEST_SKIP() << "libc is in another place than " << path;
    fs::create_directories(root + fs::path(path).parent_path().string());
    fs::copy_file(path, root + path);
  }
  fs::copy_file(target_path("tell_environment"), root + "/tell");
  expect_left_alone(executing("execv", {"/tell"}, {"-r", root}), "/tell",
                    "cannot open the preload library");
}

TEST_F(UnrecordedPrograms, AreNoneIfTheExecFails) {
  const std::string program =
      executable("program", read_bytes(target_path("tell_environment_own_malloc")));
  EXPECT_EQ(chmod(program.c_str(), 0644), 0);
  for (const std::string& function : kExecFunctions) {
    for (const std::string& path : {program, dir_.file("missing"), std::string("missing")}) {
      SCOPED_TRACE(function + " " + path);
      EXPECT_RECORDING_CHANGES_NOTHING(CommandLine{.words = executing(function, {path})});
      EXPECT_TRUE(manifest().unrecorded.empty());
    }
  }
}

TEST_F(UnrecordedPrograms, AreNoneOnAnotherLibc) {
  const std::string program = target_path("tell_environment_musl");
  if (!fs::exists(program)) GTEST_SKIP() << "musl is not installed";
  const Ended ended = record(executing({program}));
  EXPECT_EQ(ended.status, 0) << ended.describe();
  EXPECT_EQ(tape_that_asks_for(301).mallocs_of(301), 1u);
  EXPECT_TRUE(manifest().unrecorded.empty());
}

// Nobody is told to leave out what is not followed.
TEST_F(UnrecordedPrograms, AreNotListedIfProgramsAreNotFollowed) {
  const Words words = executing({target_path("tell_environment_static")});
  const Ended ended = record(words, {"--follow", "fork"});
  EXPECT_EQ(ended.out, "preload: none, session: none\n");
  EXPECT_TRUE(manifest().unrecorded.empty());
}

// More of it than fits on the stack.
TEST_F(UnrecordedPrograms, AreLeftAloneInALargeEnvironment) {
  CommandLine line{.words = executing({target_path("tell_environment_static")})};
  for (int i = 0; i < 5000; ++i) line.environment.push_back("VARIABLE_" + std::to_string(i) + "=");
  EXPECT_EQ(record(line).out, "preload: none, session: none\n");
}

TEST_F(UnrecordedPrograms, AreNoneIfTheFilterIsRefused) {
  const Ended ended = record(executing("execv", {target_path("tell_environment")}, {"-e"}));
  EXPECT_EQ(ended.status, 0) << ended.describe();
  EXPECT_EQ(tape_that_asks_for(301).mallocs_of(301), 1u);
  EXPECT_TRUE(manifest().unrecorded.empty());
}

TEST_F(UnrecordedPrograms, AreNamedUpToThree) {
  std::string script;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    script += executable(name, read_bytes(target_path("tell_environment_static"))) + "; ";
  }
  const Ended ended = record({"/bin/sh", "-c", script + "true"});
  EXPECT_EQ(manifest().unrecorded.size(), 5u);
  EXPECT_NE(ended.err.find(" and 2 more; "), std::string::npos) << ended.err;
}

}  // namespace
}  // namespace heaptape::tests
