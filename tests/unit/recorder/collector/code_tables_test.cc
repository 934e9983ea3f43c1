#include "recorder/collector/code_tables.h"

#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/output_file.h"
#include "recorder/collector/process_sampler.h"
#include "recorder/unwind/code_map.h"
#include "recorder/unwind/unwind_table.h"
#include "tests/support/temp_dir.h"

namespace heaptape::recorder {
namespace {

// This program, with a section .eh_frame of so many bytes.
void write_program(const std::string& path, uint64_t eh_frame_bytes) {
  std::string image = *base::read_file("/proc/self/exe", uint64_t{1} << 30);
  image.resize(image.size() + eh_frame_bytes);
  const auto& header = *reinterpret_cast<const Elf64_Ehdr*>(image.data());
  auto* const sections = reinterpret_cast<Elf64_Shdr*>(image.data() + header.e_shoff);
  const char* const names = image.data() + sections[header.e_shstrndx].sh_offset;
  for (uint32_t i = 0; i < header.e_shnum; ++i) {
    if (std::strcmp(names + sections[i].sh_name, ".eh_frame") != 0) continue;
    sections[i].sh_size = eh_frame_bytes;
  }
  std::ofstream(path, std::ios::binary) << image;
}

// This program, with its first code beginning so many bytes later, as other linkers lay it out.
void write_shifted_program(const std::string& path, uint64_t bytes) {
  std::string image = *base::read_file("/proc/self/exe", uint64_t{1} << 30);
  const auto& header = *reinterpret_cast<const Elf64_Ehdr*>(image.data());
  auto* const segments = reinterpret_cast<Elf64_Phdr*>(image.data() + header.e_phoff);
  for (uint32_t i = 0; i < header.e_phnum; ++i) {
    if (segments[i].p_type != PT_LOAD || (segments[i].p_flags & PF_X) == 0) continue;
    segments[i].p_offset += bytes;
    segments[i].p_vaddr += bytes;
    segments[i].p_filesz -= bytes;
  }
  std::ofstream(path, std::ios::binary) << image;
}

class CodeTablesTest : public testing::Test {
 protected:
  ~CodeTablesTest() override { munmap(const_cast<void*>(file_), kCodeFileBytes); }

  static std::unique_ptr<CodeTables> make(Unwinding unwinding) {
    auto code = CodeTables::create(unwinding);
    EXPECT_TRUE(code.ok()) << code.error().message;
    return std::move(*code);
  }
  ProcessCode read(const std::string& maps) {
    return code_->read(static_cast<uint32_t>(getpid()), maps);
  }
  // Of this program's first code, in its file.
  uint64_t own_code_offset() const {
    for (const MappedCode& code : parse_code(own_maps_)) {
      if (code.mapping.path.ends_with("/recorder_tests")) return code.mapping.file_offset;
    }
    return 0;
  }
  // As a recorded process sees it.
  const CodeMap& map_at(uint64_t offset) const {
    return *reinterpret_cast<const CodeMap*>(file() + offset);
  }
  const char* file() const { return static_cast<const char*>(file_); }
  UnwindRule rule_at(const CodeMap& map, uint64_t address) const {
    const CodeRange* const range = find_range(map, address);
    if (range == nullptr || range->table <= kMadeCode) return {};
    return find_rule(*reinterpret_cast<const UnwindTable*>(file() + range->table),
                     range->offset + (address - range->begin));
  }

  std::unique_ptr<CodeTables> code_ = make(Unwinding::kTables);
  const void* const file_ =
      mmap(nullptr, kCodeFileBytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, code_->descriptor(), 0);
  const std::string own_maps_ = *base::read_file("/proc/self/maps", 1 << 20);
};

TEST_F(CodeTablesTest, KnowTheRulesOfALibraryThatIsMapped) {
  const ProcessCode code = read(own_maps_);
  const CodeMap& map = map_at(code.code_map);
  EXPECT_EQ(map.magic, kCodeMapMagic);
  EXPECT_EQ(map.ranges, code.mappings.size());
  // A function begins with its return address on top of the stack.
  const auto address = reinterpret_cast<uint64_t>(&std::strtoull);
  EXPECT_EQ(rule_at(map, address), (UnwindRule{CfaRule::kStack, FrameRule::kSame, 0, 8}));
}

TEST_F(CodeTablesTest, KnowTheRulesOfTheKernelsCode) {
  const uint64_t before = read(own_maps_).code_map;
  const CodeMap& map = map_at(before);
  const CodeRange* const vdso = find_range(map, getauxval(AT_SYSINFO_EHDR));
  if (vdso == nullptr) GTEST_SKIP() << "this kernel has no vdso";
  uint64_t without_rule = 0;
  for (uint64_t at = vdso->begin; at < vdso->end; ++at)
    without_rule += rule_at(map, at) == UnwindRule{};
  EXPECT_LT(without_rule, vdso->end - vdso->begin);
  EXPECT_EQ(read(own_maps_).code_map, before);
}

// Memory in which code is made: what lies between two pieces of it is of it, too.
TEST_F(CodeTablesTest, KnowCodeOfNoFile) {
  const CodeMap& map = map_at(read("1000-2000 rw-p 00000000 00:00 0 \n"
                                   "2000-3000 r-xp 00000000 00:00 0 \n"
                                   "3000-4000 ---p 00000000 00:00 0 \n"
                                   "4000-5000 rwxp 00000000 00:00 0 [anon:jit]\n"
                                   "5000-6000 rw-p 00000000 00:00 0 \n"
                                   "7000-8000 r-xp 00000000 00:00 0 \n"
                                   "8000-9000 r-xp 00000000 08:01 1234 /no/file\n")
                                  .code_map);
  ASSERT_EQ(map.ranges, 3u);
  EXPECT_EQ(find_range(map, 0x1fff), nullptr);
  EXPECT_EQ(find_range(map, 0x2000)->table, kMadeCode);
  EXPECT_EQ(find_range(map, 0x4fff), find_range(map, 0x2000));
  EXPECT_EQ(find_range(map, 0x5000), nullptr);
  EXPECT_EQ(find_range(map, 0x7000)->table, kMadeCode);
  EXPECT_EQ(find_range(map, 0x8000)->table, 0u);
}

TEST_F(CodeTablesTest, ListNoCodeOfNoFileForTheTape) {
  const ProcessCode code = read(
      "2000-3000 r-xp 00000000 00:00 0 \n"
      "8000-9000 r-xp 00000000 08:01 1234 /no/file\n");
  ASSERT_EQ(code.mappings.size(), 1u);
  EXPECT_EQ(code.mappings[0].path, "/no/file");
}

TEST_F(CodeTablesTest, KnowNothingOfCodeThatIsNotMapped) {
  const CodeMap& map = map_at(read(own_maps_).code_map);
  EXPECT_EQ(find_range(map, 0x1000), nullptr);
  EXPECT_EQ(find_range(map, UINT64_MAX), nullptr);
}

TEST_F(CodeTablesTest, KnowCodeThatBeginsWithinAPage) {
  const tests::TempDir dir;
  constexpr uint64_t kBegin = 0x7f0000000000;
  const auto map_of = [&](const char* name, uint64_t bytes) {
    write_shifted_program(dir.file(name), bytes);
    std::ostringstream maps;
    maps << std::hex << kBegin << "-" << kBegin + 0x8000 << " r-xp " << own_code_offset()
         << " 00:00 1 " << dir.file(name);
    return read(maps.str()).code_map;
  };
  const CodeMap& plain = map_at(map_of("plain", 0));
  // Within .init, which the .plt follows.
  const CodeMap& shifted = map_at(map_of("shifted", 16));
  size_t rules = 0;
  for (uint64_t at = kBegin + 4096; at < kBegin + 0x8000; ++at) {
    ASSERT_EQ(rule_at(plain, at), rule_at(shifted, at)) << at - kBegin;
    if (rule_at(plain, at) != UnwindRule{}) ++rules;
  }
  EXPECT_GT(rules, 100u);
}

TEST_F(CodeTablesTest, HaveTheBuildIdsOfFiles) {
  size_t with_build_id = 0;
  for (const auto& mapping : read(own_maps_).mappings) {
    if (mapping.build_id.size() == 20) ++with_build_id;
  }
  EXPECT_GE(with_build_id, 3u);
}

TEST_F(CodeTablesTest, AreMadeOnceForTheSameCode) {
  const uint64_t first = read(own_maps_).code_map;
  EXPECT_EQ(read(own_maps_).code_map, first);
  EXPECT_NE(read(own_maps_ + "7f0000000000-7f0000001000 r-xp 0 00:00 1 /nowhere\n").code_map,
            first);
}

TEST_F(CodeTablesTest, HaveNoRulesForFilesThatCannotBeRead) {
  for (const char* path : {"/nowhere", "/dev/null", "/etc", "[vdso]", "/proc/self/maps"}) {
    const ProcessCode code =
        read(std::string("7f0000000000-7f0000001000 r-xp 00000000 00:00 1 ") + path + "\n");
    ASSERT_EQ(code.mappings.size(), 1u) << path;
    EXPECT_EQ(rule_at(map_at(code.code_map), 0x7f0000000010), UnwindRule{}) << path;
  }
}

// A server that is installed anew while it runs.
TEST_F(CodeTablesTest, KeepTheRulesOfAFileThatIsDeleted) {
  const ProcessCode before = read(own_maps_);
  std::string maps = own_maps_;
  const size_t at = maps.find("libstdc++");
  ASSERT_NE(at, std::string::npos);
  for (size_t end = maps.find('\n', at); end != std::string::npos;
       end = maps.find('\n', maps.find("libstdc++", end + 10))) {
    maps.insert(end, " (deleted)");
    if (maps.find("libstdc++", end + 11) == std::string::npos) break;
  }
  const ProcessCode after = read(maps);
  EXPECT_EQ(after.code_map, before.code_map);
  EXPECT_EQ(after.mappings, before.mappings);
}

// Another file under its name, or the same one with other content, is other code.
TEST_F(CodeTablesTest, AreThoseOfTheFileThatIsMapped) {
  const tests::TempDir dir;
  const std::string path = dir.file("program");
  write_program(path, 100);
  struct stat first{};
  ASSERT_EQ(stat(path.c_str(), &first), 0);
  const std::string maps =
      "7f0000000000-7f0000001000 r-xp 00000000 00:00 " + std::to_string(first.st_ino) + " " + path;
  const ProcessCode code = read(maps + "\n");
  EXPECT_GT(code.made_ns, 0u);
  EXPECT_GT(code.cpu_ns, 0u);
  EXPECT_EQ(read(maps + "\n").made_ns, 0u);
  write_program(dir.file("other"), 200);
  std::filesystem::rename(dir.file("other"), path);
  EXPECT_EQ(read(maps + " (deleted)\n").made_ns, 0u);
  EXPECT_GT(read(maps + "\n").made_ns, 0u);
  const timespec changed[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), changed, 0), 0);
  EXPECT_GT(read(maps + "\n").made_ns, 0u);
}

TEST_F(CodeTablesTest, CannotBeWrittenByWhoGetsThem) {
  EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, code_->descriptor(), 0),
            MAP_FAILED);
  EXPECT_NE(ftruncate(code_->descriptor(), 0), 0);
}

TEST_F(CodeTablesTest, LeaveLargeFilesForLaterInHaste) {
  const tests::TempDir dir;
  const std::string path = dir.file("large.so");
  write_program(path, 9 << 20);
  std::ostringstream maps;
  maps << "7f0000000000-7f0000001000 r-xp " << std::hex << own_code_offset() << " 00:00 1 " << path;
  const auto has_table = [&](const ProcessCode& code) {
    return find_range(map_at(code.code_map), 0x7f0000000000)->table != 0;
  };
  const auto pid = static_cast<uint32_t>(getpid());
  const ProcessCode first = code_->read_in_haste(pid, maps.str());
  EXPECT_FALSE(has_table(first));
  const ProcessCode second = code_->read(pid, maps.str());
  EXPECT_TRUE(has_table(second));
  EXPECT_TRUE(has_table(code_->read_in_haste(pid, maps.str())));
  // What is known of the file the tape has from the start.
  EXPECT_EQ(first.mappings, second.mappings);
  EXPECT_NE(first.mappings.at(0).build_id, "");
}

TEST_F(CodeTablesTest, LeaveFilesWithMuchCodeWithoutInformationForLaterInHaste) {
  const tests::TempDir dir;
  const std::string path = dir.file("bare.so");
  write_program(path, 8);
  std::ostringstream maps;
  maps << "7f0000000000-7f0000001000 r-xp " << std::hex << own_code_offset() << " 00:00 1 " << path;
  const auto code = CodeTables::create(Unwinding::kTables,
                                       {uint64_t{1} << 40, {.code_bytes = uint64_t{4} << 10}});
  ASSERT_TRUE(code.ok());
  const auto pid = static_cast<uint32_t>(getpid());
  EXPECT_TRUE((*code)->read_in_haste(pid, maps.str()).is_partial);
  EXPECT_FALSE((*code)->read(pid, maps.str()).is_partial);
  EXPECT_FALSE((*code)->read_in_haste(pid, maps.str()).is_partial);
}

TEST_F(CodeTablesTest, LeaveTheRestForLaterOnceHasteIsOver) {
  const auto code = CodeTables::create(Unwinding::kTables, {.most_ns = 1, .most = {}});
  ASSERT_TRUE(code.ok());
  const auto pid = static_cast<uint32_t>(getpid());
  EXPECT_TRUE((*code)->read_in_haste(pid, own_maps_).is_partial);
  EXPECT_FALSE((*code)->read(pid, own_maps_).is_partial);
  EXPECT_FALSE((*code)->read_in_haste(pid, own_maps_).is_partial);
}

// Of a process whose root we cannot reach: here one that is none.
TEST_F(CodeTablesTest, TakeAFileOfOurOwnRootOnlyIfItIsTheSame) {
  constexpr uint32_t kNobody = 0x7fffffff;
  const ProcessCode same = code_->read(kNobody, own_maps_);
  EXPECT_NE(rule_at(map_at(same.code_map), reinterpret_cast<uint64_t>(&std::strtoull)),
            UnwindRule{});
  const tests::TempDir dir;
  const std::string path = dir.file("program");
  write_program(path, 100);
  struct stat status{};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  const auto build_id = [&](uint64_t inode) {
    return code_
        ->read(kNobody, "7f0000000000-7f0000001000 r-xp 00000000 00:00 " + std::to_string(inode) +
                            " " + path + "\n")
        .mappings.at(0)
        .build_id;
  };
  EXPECT_EQ(build_id(status.st_ino + 1), "");
  EXPECT_NE(build_id(status.st_ino), "");
}

TEST_F(CodeTablesTest, KeepToTheLimitOnFileSizes) {
  constexpr rlim_t kLittle = 4096;
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit little{kLittle, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &little);
  const auto code = make(Unwinding::kTables);
  const size_t libc = own_maps_.find(" r-xp ", own_maps_.find("/libc.so"));
  const size_t begin = own_maps_.rfind('\n', libc) + 1;
  const std::string maps = own_maps_.substr(begin, own_maps_.find('\n', libc) + 1 - begin);
  const ProcessCode read = code->read(static_cast<uint32_t>(getpid()), maps);
  setrlimit(RLIMIT_FSIZE, &before);
  const auto* const file = static_cast<const char*>(
      mmap(nullptr, kLittle, PROT_READ, MAP_SHARED, code->descriptor(), 0));
  const CodeMap& map = *reinterpret_cast<const CodeMap*>(file + read.code_map);
  ASSERT_EQ(read.mappings.size(), 1u);
  ASSERT_EQ(map.ranges, 1u);
  EXPECT_EQ(find_range(map, read.mappings[0].range.begin)->table, 0u);
  munmap(const_cast<char*>(file), kLittle);
}

TEST_F(CodeTablesTest, AreNotMadeWhereWalksGoByFramePointers) {
  const auto code = make(Unwinding::kFramePointers);
  const ProcessCode read = code->read(static_cast<uint32_t>(getpid()), own_maps_);
  EXPECT_EQ(code->descriptor(), -1);
  EXPECT_EQ(read.code_map, 0u);
  EXPECT_GE(read.mappings.size(), 3u);
}

}  // namespace
}  // namespace heaptape::recorder
