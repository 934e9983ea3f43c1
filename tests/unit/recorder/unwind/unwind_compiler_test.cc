#include "recorder/unwind/unwind_compiler.h"

#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>

#include "tests/support/cfi_bytes.h"
#include "tests/support/elf_header.h"
#include "tests/support/modules.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"
#include "tests/support/whole_table.h"

namespace heaptape::recorder {
namespace {

using tests::Bytes;
using tests::operator+;

constexpr uint64_t kTableSection = 0x20000;
constexpr uint64_t kTableCode = 0x1000;

UnwindRule stack_rule(int32_t offset) {
  return {CfaRule::kStack, FrameRule::kSame, 0, offset};
}

base::Result<UnwindTables> compile_file(const std::string& path, const CompileLimits& most = {}) {
  return compile_unwind_tables(base::Descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC)), most);
}

class CompiledSection : public testing::Test {
 protected:
  UnwindTables compile(const std::vector<CodeSegment>& segments) {
    return compile_eh_frame(section_.bytes(), section_.address(), segments);
  }

  tests::CfiSection section_{kTableSection};
  uint32_t cie_ = section_.add_usual_cie();
};

TEST_F(CompiledSection, HasARuleForEachAddressOfAFunction) {
  section_.add_usual_fde(cie_, kTableCode + 0x10, 0x20, {0x41, 0x0e, 16});
  const UnwindTables tables = compile({{0, kTableCode, 0x100}});
  ASSERT_EQ(tables.tables.size(), 1u);
  const UnwindTable& table = tables.tables[0].table();
  EXPECT_EQ(find_rule(table, 0xf), UnwindRule{});
  EXPECT_EQ(find_rule(table, 0x10), stack_rule(8));
  EXPECT_EQ(find_rule(table, 0x11), stack_rule(16));
  EXPECT_EQ(find_rule(table, 0x2f), stack_rule(16));
  EXPECT_EQ(find_rule(table, 0x30), UnwindRule{});
}

// Code without information, of which the first function is at kTableCode + 0x1000.
class CompiledGap : public CompiledSection {
 protected:
  static constexpr uint32_t kBytes = 0x5000;

  // The rule in a stretch with a function that makes a frame pointer in every `distance` bytes.
  UnwindRule rule_with(size_t distance, const Bytes& prologue) {
    section_.add_usual_fde(cie_, kTableCode, 0x10);
    section_.add_usual_fde(cie_, kTableCode + kBytes, 0x10);
    const auto read = [&](const CodeSegment& segment, uint64_t offset, uint64_t bytes) {
      EXPECT_EQ(segment.address, kTableCode);
      EXPECT_EQ(offset, 0x10u);
      std::vector<uint8_t> code(bytes, 0x90);
      for (size_t at = 0; at + 4 <= bytes; at += distance) {
        std::copy(prologue.begin(), prologue.end(), code.begin() + static_cast<ptrdiff_t>(at));
      }
      return code;
    };
    const std::vector<CodeSegment> segments = {{0, kTableCode, kBytes + 0x20}};
    const UnwindTables tables =
        compile_eh_frame(section_.bytes(), section_.address(), segments, read);
    const UnwindTable& table = tables.tables[0].table();
    EXPECT_EQ(find_rule(table, 0), stack_rule(8));
    EXPECT_EQ(find_rule(table, kBytes), stack_rule(8));
    EXPECT_EQ(find_rule(table, kBytes + 0x10), UnwindRule{});
    EXPECT_EQ(find_rule(table, 0x10), find_rule(table, kBytes - 1));
    return find_rule(table, 0x10);
  }
};

TEST_F(CompiledGap, HasFramePointersWhereMostFunctionsMakeOne) {
  EXPECT_EQ(rule_with(1000, {0x55, 0x48, 0x89, 0xe5}), kFramedRule);
}

TEST_F(CompiledGap, HasFramePointersAsOthersWriteThem) {
  EXPECT_EQ(rule_with(1000, {0x55, 0x48, 0x8b, 0xec}), kFramedRule);
}

TEST_F(CompiledGap, HasNoRuleWhereFewFunctionsHaveAFramePointer) {
  EXPECT_EQ(rule_with(0x3000, {0x55, 0x48, 0x89, 0xe5}), UnwindRule{});
}

TEST_F(CompiledGap, HasNoRuleWhereNoFunctionHasAFramePointer) {
  EXPECT_EQ(rule_with(16, {0x90, 0x55, 0x48, 0x89}), UnwindRule{});
}

TEST_F(CompiledGap, IsNotReadBeyondTheLimit) {
  section_.add_usual_fde(cie_, kTableCode, 0x10);
  const std::vector<CodeSegment> segments = {{0, kTableCode, 0x10 + kBytes}};
  uint64_t read_bytes = 0;
  const auto read = [&read_bytes](const CodeSegment&, uint64_t, uint64_t bytes) {
    read_bytes += bytes;
    return std::vector<uint8_t>(bytes, 0x90);
  };
  const auto section = section_.bytes();
  EXPECT_TRUE(
      compile_eh_frame(section, section_.address(), segments, read, kBytes - 1).has_unread_code);
  EXPECT_EQ(read_bytes, 0u);
  EXPECT_FALSE(
      compile_eh_frame(section, section_.address(), segments, read, kBytes).has_unread_code);
  EXPECT_EQ(read_bytes, kBytes);
}

TEST_F(CompiledSection, HasATableForEachSegment) {
  section_.add_usual_fde(cie_, kTableCode, 0x20);
  section_.add_usual_fde(cie_, 0x9010, 0x20, {0x0e, 16});
  const UnwindTables tables = compile({{0, kTableCode, 0x100}, {0x100, 0x9000, 0x100}});
  ASSERT_EQ(tables.tables.size(), 2u);
  EXPECT_EQ(tables.tables[1].segment.file_offset, 0x100u);
  EXPECT_EQ(find_rule(tables.tables[0].table(), 0), stack_rule(8));
  EXPECT_EQ(find_rule(tables.tables[1].table(), 0x10), stack_rule(16));
}

TEST_F(CompiledSection, CutsFunctionsAtTheEndOfTheirSegment) {
  section_.add_usual_fde(cie_, kTableCode + 0xf0, 0x100, {0x41, 0x0e, 16, 0x60, 0x0e, 24});
  const UnwindTables tables = compile({{0, kTableCode, 0x100}});
  EXPECT_EQ(find_rule(tables.tables[0].table(), 0xff), stack_rule(16));
  EXPECT_EQ(find_rule(tables.tables[0].table(), 0x100), UnwindRule{});
}

TEST_F(CompiledSection, CountsWhatItLeavesOut) {
  section_.add_usual_fde(cie_, kTableCode, 0x20);
  section_.add_usual_fde(cie_, kTableCode + 0x20, 0);
  section_.add_usual_fde(cie_, 0x9000, 0x20);
  section_.add_usual_fde(cie_ + 1, kTableCode + 0x20, 0x20);
  const UnwindTables tables = compile({{0, kTableCode, 0x100}});
  EXPECT_EQ(tables.counts.functions, 2u);
  EXPECT_EQ(tables.counts.misplaced, 1u);
  EXPECT_EQ(tables.counts.unreadable, 1u);
}

TEST_F(CompiledSection, CountsCodeWithoutARuleByReason) {
  section_.add_usual_fde(cie_, kTableCode, 0x20, {0x44, 0x0c, 10, 0, 0x48, 0x3f});
  const UnwindTables tables = compile({{0, kTableCode, 0x100}});
  const auto& code_bytes = tables.counts.code_bytes;
  EXPECT_EQ(code_bytes[static_cast<size_t>(NoRule::kCfaRegister)], 8u);
  EXPECT_EQ(code_bytes[static_cast<size_t>(NoRule::kDamaged)], 0x14u);
  EXPECT_EQ(code_bytes[static_cast<size_t>(NoRule::kNoInformation)], 0xe0u);
  EXPECT_EQ(tables.counts.rows, 2u);
  EXPECT_EQ(tables.counts.rows_without_rule, 1u);
}

TEST_F(CompiledSection, HasNoRulesBeyondThoseThatATableHolds) {
  constexpr uint32_t kRules = 70'000;
  Bytes instructions;
  for (uint32_t i = 1; i <= kRules; ++i) {
    instructions.insert(instructions.end(),
                        {0x0e, static_cast<uint8_t>(i | 0x80), static_cast<uint8_t>(i >> 7 | 0x80),
                         static_cast<uint8_t>(i >> 14), 0x41});
  }
  section_.add_usual_fde(cie_, kTableCode, kRules, instructions);
  const UnwindTables tables = compile({{0, kTableCode, kRules}});
  EXPECT_EQ(find_rule(tables.tables[0].table(), 65'534), stack_rule(65'535));
  EXPECT_EQ(find_rule(tables.tables[0].table(), 65'535), UnwindRule{});
  EXPECT_EQ(tables.counts.code_bytes[static_cast<size_t>(NoRule::kTooManyRules)], kRules - 65'535u);
}

// --- files

// A program of one segment of code, 0x1000 bytes at kTableCode, and of .eh_frame in another, which
// only the header for the loader names.
std::string program_without_sections(const tests::CfiSection& section) {
  auto header = tests::elf_header<Elf64_Ehdr>(ET_EXEC, EM_X86_64);
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 3;
  const uint64_t address = section.address() - 8;  // of the loader's header
  const uint64_t bytes = section.bytes().size() + 8;
  const Elf64_Phdr segments[] = {
      {PT_LOAD, PF_R | PF_X, 0, kTableCode, kTableCode, 0x1000, 0x1000, 0x1000},
      {PT_LOAD, PF_R, 0x1000, address, address, bytes, bytes, 8},
      {PT_GNU_EH_FRAME, PF_R, 0x1000, address, address, 8, 8, 4}};
  std::string file(0x1000, '\0');
  std::memcpy(file.data(), &header, sizeof header);
  std::memcpy(file.data() + sizeof header, segments, sizeof segments);
  const Bytes loader_header = Bytes{1, 0x1b, 0xff, 0xff} + tests::number(uint32_t{4});
  for (const Bytes& part : {loader_header, section.bytes()}) file.append(part.begin(), part.end());
  return file;
}

class CompiledFile : public testing::Test {
 protected:
  base::Result<UnwindTables> compile(const std::string& bytes) {
    tests::write_bytes(dir_.file("f"), bytes);
    return compile_file(dir_.file("f"));
  }
  tests::TempDir dir_;
};

TEST_F(CompiledFile, NeedsNoSections) {
  tests::CfiSection section(kTableSection);
  section.add_usual_fde(section.add_usual_cie(), kTableCode + 0x80, 0x20);
  section.add_mark();
  const auto tables = compile(program_without_sections(section));
  ASSERT_TRUE(tables.ok());
  ASSERT_EQ(tables->tables.size(), 1u);
  EXPECT_EQ(tables->tables[0].segment.address, kTableCode);
  EXPECT_EQ(tables->tables[0].segment.bytes, 0x1000u);
  EXPECT_EQ(find_rule(tables->tables[0].table(), 0x80), stack_rule(8));
  EXPECT_TRUE(tables->build_id.empty());
}

TEST_F(CompiledFile, MayHaveNoInformation) {
  std::string bytes = program_without_sections(tests::CfiSection(kTableSection));
  bytes[sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr)] = PT_NULL;
  const auto tables = compile(bytes);
  ASSERT_TRUE(tables.ok());
  EXPECT_EQ(find_rule(tables->tables.at(0).table(), 0), UnwindRule{});
}

TEST_F(CompiledFile, IsRefusedIfItHasMoreCodeWithoutInformationThanIsAskedFor) {
  std::string bytes = program_without_sections(tests::CfiSection(kTableSection));
  bytes[sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr)] = PT_NULL;
  tests::write_bytes(dir_.file("f"), bytes);
  const auto tables = compile_file(dir_.file("f"), {.code_bytes = 0xfff});
  ASSERT_FALSE(tables.ok());
  EXPECT_EQ(tables.error().message, "too much of its code has no unwind information");
  EXPECT_TRUE(compile_file(dir_.file("f"), {.code_bytes = 0x1000}).ok());
}

TEST_F(CompiledFile, IsRefusedIfItIsNoProgram) {
  auto header = tests::elf_header<Elf64_Ehdr>(ET_DYN, EM_AARCH64);
  const std::string foreign(reinterpret_cast<const char*>(&header), sizeof header);
  for (const std::string& bytes : {std::string(), std::string("#!/bin/sh\n"), foreign}) {
    const auto tables = compile(bytes);
    ASSERT_FALSE(tables.ok());
    EXPECT_EQ(tables.error().message, "it is not a program or library for x86-64");
  }
}

TEST_F(CompiledFile, IsRefusedIfReadingItCouldWait) {
  ASSERT_EQ(mkfifo(dir_.file("pipe").c_str(), 0600), 0);
  const base::Descriptor writer(open(dir_.file("pipe").c_str(), O_RDWR | O_CLOEXEC));
  const auto tables = compile_file(dir_.file("pipe"));
  ASSERT_FALSE(tables.ok());
  EXPECT_EQ(tables.error().message, "it is not a regular file");
  EXPECT_FALSE(compile_file(dir_.path().string()).ok());
}

TEST_F(CompiledFile, IsRefusedIfItIsCutShort) {
  const std::string bytes = tests::read_bytes(tests::loaded_module("libgcc_s"));
  for (size_t part = 1; part < 6; ++part) {
    const auto tables = compile(bytes.substr(0, bytes.size() * part / 8));
    ASSERT_FALSE(tables.ok());
    EXPECT_EQ(tables.error().message, "it is cut short");
  }
}

// In front the headers of segments stand, at the end those of sections and their names.
TEST_F(CompiledFile, HasWholeTablesOrNoneWhateverItsHeadersSay) {
  tests::SeededRandom random;
  const std::string bytes = tests::read_bytes(tests::loaded_module("libgcc_s"));
  for (int round = 0; round < 300; ++round) {
    std::string damaged = bytes;
    const size_t place = random.below(1024);
    damaged[round % 2 == 0 ? place : bytes.size() - 1 - 2 * place] =
        static_cast<char>(random.next());
    const auto tables = compile(damaged);
    if (!tables.ok()) continue;
    for (const CompiledTable& table : tables->tables) EXPECT_TRUE(tests::is_whole(table.table()));
  }
}

TEST(CompiledModules, HaveTheirBuildId) {
  const auto tables = compile_file(tests::loaded_module("libc.so"));
  ASSERT_TRUE(tables.ok());
  EXPECT_EQ(tables->build_id.size(), 20u);
}

TEST(CompiledModules, CoverTheirFunctions) {
  for (const std::string& path : tests::loaded_modules()) {
    const auto tables = compile_file(path);
    ASSERT_TRUE(tables.ok()) << path;
    EXPECT_EQ(tables->counts.unreadable, 0u) << path;
    EXPECT_EQ(tables->counts.misplaced, 0u) << path;
    const bool is_data = path.ends_with("_wire.so");  // in a build of shared libraries
    EXPECT_EQ(tables->counts.functions == 0, is_data) << path;
  }
}

}  // namespace
}  // namespace heaptape::recorder
