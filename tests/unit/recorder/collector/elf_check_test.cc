#include "recorder/collector/elf_check.h"

#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "tests/support/elf_header.h"
#include "tests/support/programs.h"
#include "tests/support/temp_dir.h"

namespace heaptape::recorder {
namespace {

class ElfCheckTest : public testing::Test {
 protected:
  // The path of an executable file with these bytes.
  std::string program(const std::string& bytes, mode_t mode = 0755) {
    std::string path = dir_.file("program" + std::to_string(++programs_));
    tests::write_bytes(path, bytes);
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }
  // What is wrong with it; empty: nothing.
  static std::string complaint(const std::string& path) {
    const base::Status status = check_recordable(path, {path});
    return status.ok() ? "" : status.error().message;
  }
  static bool mentions(const std::string& text, const char* words) {
    return text.find(words) != std::string::npos;
  }

  tests::TempDir dir_;
  int programs_ = 0;
};

// What the kernel and the loader look at: a header, and segments of these types at the file's
// begin.
std::string elf_file(uint16_t machine = EM_X86_64, uint32_t segment = PT_INTERP,
                     const std::string& loader = "/lib64/ld-linux-x86-64.so.2") {
  auto header = tests::elf_header<Elf64_Ehdr>(ET_DYN, machine);
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 3;
  Elf64_Phdr segments[3] = {};
  segments[0].p_type = segment;
  segments[0].p_offset = sizeof header + sizeof segments;
  segments[0].p_filesz = loader.size() + 1;
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes.append(reinterpret_cast<const char*>(segments), sizeof segments);
  return bytes.append(loader).append(1, '\0');
}

// The same with a dynamic section: it needs the library, and its symbol table defines the
// functions, which a hash table of one bucket leads to.
std::string elf_file_with(const std::string& library, const std::vector<std::string>& functions,
                          int64_t hash_tag = DT_HASH) {
  std::string bytes = elf_file();
  bytes.resize((bytes.size() + 7) / 8 * 8);
  std::string names = std::string(1, '\0') + library + '\0';
  std::vector<Elf64_Sym> symbols(1);
  std::vector<uint32_t> hash = {1, static_cast<uint32_t>(functions.size() + 1), 0, 0};
  for (const std::string& function : functions) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<uint32_t>(names.size());
    symbol.st_shndx = 1;
    names += function + '\0';
    hash[2] = static_cast<uint32_t>(symbols.size());            // the bucket: the last symbol
    hash.push_back(static_cast<uint32_t>(symbols.size() - 1));  // its chain: the one before
    symbols.push_back(symbol);
  }
  if (hash_tag == DT_GNU_HASH) {
    hash = {1, 1, 1, 0, ~0u, ~0u, 1};  // one bucket, from symbol 1 on, a filter that lets all pass
    for (const std::string& function : functions) {
      uint32_t value = 5381;
      for (const char c : function) value = value * 33 + static_cast<unsigned char>(c);
      hash.push_back(value & ~1u);
    }
    if (!functions.empty()) hash.back() |= 1;
  }
  const uint64_t symbols_at = bytes.size();
  const uint64_t hash_at = symbols_at + symbols.size() * sizeof(Elf64_Sym);
  const uint64_t names_at = hash_at + (hash.size() + 1) / 2 * 8;
  const uint64_t dynamic_at = names_at + (names.size() + 7) / 8 * 8;
  const Elf64_Dyn dynamic[] = {{DT_NEEDED, {1}},
                               {DT_STRTAB, {names_at}},
                               {DT_SYMTAB, {symbols_at}},
                               {hash_tag, {hash_at}},
                               {DT_NULL, {0}}};
  bytes.append(reinterpret_cast<const char*>(symbols.data()), hash_at - symbols_at);
  bytes.append(reinterpret_cast<const char*>(hash.data()), hash.size() * 4).resize(names_at);
  bytes.append(names).resize(dynamic_at);
  bytes.append(reinterpret_cast<const char*>(dynamic), sizeof dynamic);
  auto* segments = reinterpret_cast<Elf64_Phdr*>(bytes.data() + sizeof(Elf64_Ehdr));
  segments[1].p_type = PT_LOAD;
  segments[1].p_filesz = bytes.size();
  segments[2].p_type = PT_DYNAMIC;
  segments[2].p_offset = dynamic_at;
  segments[2].p_filesz = sizeof dynamic;
  return bytes;
}

std::string elf_file_exporting(const std::string& function, int64_t hash_tag = DT_HASH) {
  return elf_file_with("libc.so.6", {"first", function, "last"}, hash_tag);
}

TEST_F(ElfCheckTest, AcceptsDynamicPrograms) {
  EXPECT_EQ(complaint("/bin/sh"), "");
  if (!tests::kSanitized) {
    EXPECT_EQ(complaint("/proc/self/exe"), "");
  }
  EXPECT_EQ(complaint(program(elf_file())), "");
}

TEST_F(ElfCheckTest, RefusesStaticPrograms) {
  EXPECT_TRUE(mentions(complaint(program(elf_file(EM_X86_64, PT_LOAD))), "statically linked"));
}

TEST_F(ElfCheckTest, RefusesOtherMachines) {
  EXPECT_TRUE(mentions(complaint(program(elf_file(EM_AARCH64))), "a machine other than x86-64"));
  std::string narrow = elf_file();
  narrow[EI_CLASS] = ELFCLASS32;
  EXPECT_TRUE(mentions(complaint(program(narrow)), "a machine other than x86-64"));
}

TEST_F(ElfCheckTest, RefusesProgramsThatBringTheirMalloc) {
  for (const int64_t hash : {int64_t{DT_HASH}, int64_t{DT_GNU_HASH}}) {
    const std::string path = program(elf_file_exporting("malloc", hash));
    EXPECT_TRUE(mentions(complaint(path), "defines malloc itself")) << hash;
    EXPECT_EQ(complaint(program(elf_file_exporting("malloc2", hash))), "") << hash;
  }
}

TEST_F(ElfCheckTest, RefusesProgramsThatNeedASanitizer) {
  for (const char* library : {"libasan.so.8", "libtsan.so.2", "/opt/libclang_rt.asan-x86_64.so"}) {
    EXPECT_TRUE(mentions(complaint(program(elf_file_with(library, {}))), "sanitizer")) << library;
  }
  EXPECT_EQ(complaint(program(elf_file_with("libubsan.so.1", {}))), "");
}

TEST_F(ElfCheckTest, RefusesProgramsWithASanitizerInside) {
  const std::string path = program(elf_file_with("libc.so.6", {"malloc", "__asan_init"}));
  EXPECT_TRUE(mentions(complaint(path), "sanitizer"));
}

TEST_F(ElfCheckTest, AcceptsTheLoadersOfGlibcAndMuslOnly) {
  EXPECT_EQ(complaint(program(elf_file(EM_X86_64, PT_INTERP, "/lib/ld-musl-x86_64.so.1"))), "");
  const std::string other = program(elf_file(EM_X86_64, PT_INTERP, "/system/bin/linker64"));
  EXPECT_TRUE(mentions(complaint(other), "neither glibc's nor musl's"));
}

TEST_F(ElfCheckTest, JudgesALoaderByTheProgramThatItIsToldToRun) {
  const std::string loader = "/lib64/ld-linux-x86-64.so.2";
  const std::string bad = program(elf_file_exporting("malloc"));
  const auto judge = [&](std::vector<std::string> command) {
    command.insert(command.begin(), loader);
    const base::Status status = check_recordable(loader, command);
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_EQ(judge({"/bin/sh"}), "");
  EXPECT_EQ(judge({"--help"}), "");
  EXPECT_TRUE(mentions(judge({bad}), bad.c_str()));
  EXPECT_TRUE(mentions(judge({"--library-path", "/lib", "--inhibit-cache", bad}), bad.c_str()));
}

TEST_F(ElfCheckTest, RefusesAProgramThatEndsBehindItsHeader) {
  const std::string whole = elf_file();
  for (size_t length = sizeof(Elf64_Ehdr); length < sizeof(Elf64_Ehdr) + 56; ++length) {
    EXPECT_NE(complaint(program(whole.substr(0, length))), "") << length;
  }
}

TEST_F(ElfCheckTest, SurvivesAnyCutAndAnyWrongByte) {
  const std::string whole = elf_file_exporting("malloc");
  for (size_t at = 0; at < whole.size(); ++at) {
    complaint(program(whole.substr(0, at)));
    std::string wrong = whole;
    wrong[at] = static_cast<char>(0xff);
    complaint(program(wrong));
  }
}

TEST_F(ElfCheckTest, RefusesProgramsThatGainPrivileges) {
  const std::string path = program(elf_file());
  if (chown(path.c_str(), 65534, 65534) != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(chmod(path.c_str(), 04755), 0);
  EXPECT_TRUE(mentions(complaint(path), "privileges"));
  ASSERT_EQ(chmod(path.c_str(), 02755), 0);
  EXPECT_TRUE(mentions(complaint(path), "privileges"));
  ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  EXPECT_EQ(complaint(path), "");
}

TEST_F(ElfCheckTest, AcceptsASetuidProgramOfOnesOwn) {
  EXPECT_EQ(complaint(program(elf_file(), 04755)), "");
}

TEST_F(ElfCheckTest, JudgesScriptsByTheirInterpreter) {
  EXPECT_EQ(complaint(program("#!/bin/sh\nexit\n")), "");
  EXPECT_EQ(complaint(program("#! /bin/sh -e")), "");
  const std::string fixed = program(elf_file(EM_X86_64, PT_LOAD));
  const std::string script = program("#!" + fixed + " -x\n");
  EXPECT_TRUE(mentions(complaint(script), "statically linked"));
  EXPECT_TRUE(mentions(complaint(program("#!" + script + "\n")), fixed.c_str()));
}

// As far as Linux does: the last of five interpreters may be a script no more.
TEST_F(ElfCheckTest, JudgesAChainOfScriptsByItsLastInterpreter) {
  std::string next = program(elf_file(EM_X86_64, PT_LOAD));
  for (int interpreters = 1; interpreters <= 5; ++interpreters) {
    next = program("#!" + next + "\n");
    EXPECT_TRUE(mentions(complaint(next), "statically linked")) << interpreters;
  }
  EXPECT_EQ(complaint(program("#!" + next + "\n")), "");
}

TEST_F(ElfCheckTest, NamesAnInterpreterThatIsNotThere) {
  EXPECT_TRUE(mentions(complaint(program("#!/no/such/shell\n")), "/no/such/shell"));
}

TEST_F(ElfCheckTest, FollowsScriptsThatRunThemselvesOnlySoFar) {
  const std::string path = dir_.file("loop");
  tests::write_bytes(path, "#!" + path + "\n");
  ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  EXPECT_EQ(complaint(path), "");  // the system will say what it thinks of it
}

TEST_F(ElfCheckTest, LeavesTextWithoutInterpreterToTheShell) {
  EXPECT_EQ(complaint(program("exit 3\n")), "");
  EXPECT_EQ(complaint(program("")), "");
  EXPECT_EQ(complaint(program("#!")), "");
}

// PATH for a test.
class FindProgramTest : public ElfCheckTest {
 protected:
  FindProgramTest() {
    if (const char* const path = getenv("PATH")) path_ = path;
  }
  ~FindProgramTest() override { setenv("PATH", path_.c_str(), 1); }
  std::string path_;
};

TEST_F(FindProgramTest, LooksInPath) {
  setenv("PATH", ("/nowhere:" + dir_.path().string()).c_str(), 1);
  const std::string path = program("");
  EXPECT_EQ(*find_program("program1"), path);
}

TEST_F(FindProgramTest, StepsOverFilesThatCannotBeRun) {
  program("", 0644);
  setenv("PATH", dir_.path().c_str(), 1);
  ASSERT_FALSE(find_program("program1").ok());
  EXPECT_TRUE(mentions(find_program("program1").error().message, "no such program in PATH"));
}

TEST_F(FindProgramTest, TakesAPathAsItIs) {
  const std::string path = program("");
  EXPECT_EQ(*find_program(path), path);
  EXPECT_TRUE(mentions(find_program(dir_.file("none")).error().message, "No such file"));
  EXPECT_TRUE(mentions(find_program(dir_.path().string() + "/").error().message, "not an exec"));
}

}  // namespace
}  // namespace heaptape::recorder
