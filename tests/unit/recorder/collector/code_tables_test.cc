#include "recorder/collector/code_tables.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/output_file.h"
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
  // As a recorded process sees it.
  const CodeMap& map_at(uint64_t offset) const {
    return *reinterpret_cast<const CodeMap*>(file() + offset);
  }
  const char* file() const { return static_cast<const char*>(file_); }
  UnwindRule rule_at(const CodeMap& map, uint64_t address) const {
    const CodeRange* const range = find_range(map, address);
    if (range == nullptr || range->table == 0) return {};
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

TEST_F(CodeTablesTest, KnowNothingOfCodeThatIsNotMapped) {
  const CodeMap& map = map_at(read(own_maps_).code_map);
  EXPECT_EQ(find_range(map, 0x1000), nullptr);
  EXPECT_EQ(find_range(map, UINT64_MAX), nullptr);
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

TEST_F(CodeTablesTest, CannotBeWrittenByWhoGetsThem) {
  EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, code_->descriptor(), 0),
            MAP_FAILED);
  EXPECT_NE(ftruncate(code_->descriptor(), 0), 0);
}

TEST_F(CodeTablesTest, LeaveLargeFilesForLaterInHaste) {
  const tests::TempDir dir;
  const std::string path = dir.file("large.so");
  write_program(path, 9 << 20);
  const std::string maps = "7f0000000000-7f0000001000 r-xp 00000000 00:00 1 " + path + "\n";
  const auto build_id = [&](const ProcessCode& code) { return code.mappings.at(0).build_id; };
  const auto pid = static_cast<uint32_t>(getpid());
  EXPECT_EQ(build_id(code_->read_in_haste(pid, maps)), "");
  EXPECT_NE(build_id(code_->read(pid, maps)), "");
  EXPECT_NE(build_id(code_->read_in_haste(pid, maps)), "");
}

TEST_F(CodeTablesTest, KeepToTheLimitOnFileSizes) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit little{4096, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &little);
  const auto code = make(Unwinding::kTables);
  const ProcessCode read = code->read(static_cast<uint32_t>(getpid()), own_maps_);
  setrlimit(RLIMIT_FSIZE, &before);
  const auto* const file =
      static_cast<const char*>(mmap(nullptr, 4096, PROT_READ, MAP_SHARED, code->descriptor(), 0));
  const CodeMap& map = *reinterpret_cast<const CodeMap*>(file + read.code_map);
  EXPECT_EQ(map.ranges, read.mappings.size());
  EXPECT_EQ(find_range(map, reinterpret_cast<uint64_t>(&std::strtoull))->table, 0u);
  munmap(const_cast<char*>(file), 4096);
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
