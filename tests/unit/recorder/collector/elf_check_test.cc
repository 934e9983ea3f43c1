#include "recorder/collector/elf_check.h"

#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "tests/support/temp_dir.h"

namespace heaptape::recorder {
namespace {

class ElfCheckTest : public testing::Test {
 protected:
  // The path of an executable file with these bytes.
  std::string program(const std::string& bytes, mode_t mode = 0755) {
    const std::string path = dir_.file("program" + std::to_string(++programs_));
    tests::write_bytes(path, bytes);
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }
  // What is wrong with it; empty: nothing.
  static std::string complaint(const std::string& path) {
    const base::Status status = check_recordable(path);
    return status.ok() ? "" : status.error().message;
  }
  static bool mentions(const std::string& text, const char* words) {
    return text.find(words) != std::string::npos;
  }

  tests::TempDir dir_;
  int programs_ = 0;
};

// A header and one program header of this type: as much as the check looks at.
std::string elf_file(uint16_t machine = EM_X86_64, uint32_t segment = PT_INTERP) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = machine;
  header.e_version = EV_CURRENT;
  header.e_phoff = sizeof header;
  header.e_ehsize = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  header.e_shentsize = sizeof(Elf64_Shdr);
  Elf64_Phdr interpreter{};
  interpreter.p_type = segment;
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) +
         std::string(reinterpret_cast<const char*>(&interpreter), sizeof interpreter);
}

// The same with a dynamic symbol table that defines the function.
std::string elf_file_exporting(const std::string& function) {
  std::string bytes = elf_file();
  const std::string names = std::string(1, '\0') + function + '\0';
  Elf64_Sym symbols[2] = {};
  symbols[1].st_name = 1;
  symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  symbols[1].st_shndx = 1;
  Elf64_Shdr sections[3] = {};
  sections[1].sh_type = SHT_DYNSYM;
  sections[1].sh_offset = bytes.size();
  sections[1].sh_size = sizeof symbols;
  sections[1].sh_entsize = sizeof(Elf64_Sym);
  sections[1].sh_addralign = 8;
  sections[1].sh_link = 2;
  sections[2].sh_type = SHT_STRTAB;
  sections[2].sh_offset = bytes.size() + sizeof symbols;
  sections[2].sh_size = names.size();
  sections[2].sh_addralign = 1;
  bytes.append(reinterpret_cast<const char*>(symbols), sizeof symbols).append(names);
  bytes.resize((bytes.size() + 7) / 8 * 8);
  const uint64_t section_offset = bytes.size();
  std::memcpy(bytes.data() + offsetof(Elf64_Ehdr, e_shoff), &section_offset, sizeof section_offset);
  const uint16_t count = 3;
  std::memcpy(bytes.data() + offsetof(Elf64_Ehdr, e_shnum), &count, sizeof count);
  return bytes.append(reinterpret_cast<const char*>(sections), sizeof sections);
}

TEST_F(ElfCheckTest, AcceptsDynamicPrograms) {
  EXPECT_EQ(complaint("/bin/sh"), "");
  EXPECT_EQ(complaint("/proc/self/exe"), "");
  EXPECT_EQ(complaint(program(elf_file())), "");
}

TEST_F(ElfCheckTest, RefusesStaticPrograms) {
  EXPECT_TRUE(mentions(complaint(program(elf_file(EM_X86_64, PT_LOAD))), "statically linked"));
}

TEST_F(ElfCheckTest, RefusesOtherMachines) {
  EXPECT_TRUE(mentions(complaint(program(elf_file(EM_AARCH64))), "another machine type"));
  std::string narrow = elf_file();
  narrow[EI_CLASS] = ELFCLASS32;
  EXPECT_TRUE(mentions(complaint(program(narrow)), "another machine type"));
}

TEST_F(ElfCheckTest, RefusesProgramsThatBringTheirMalloc) {
  EXPECT_TRUE(mentions(complaint(program(elf_file_exporting("malloc"))), "defines malloc itself"));
  EXPECT_EQ(complaint(program(elf_file_exporting("malloc2"))), "");
}

TEST_F(ElfCheckTest, RefusesAProgramThatEndsBehindItsHeader) {
  const std::string whole = elf_file();
  for (size_t length = sizeof(Elf64_Ehdr); length < whole.size(); ++length) {
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
  FindProgramTest() : path_(getenv("PATH")) {}
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
