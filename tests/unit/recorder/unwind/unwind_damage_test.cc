// Whatever stands in a program's .eh_frame, compiling it comes to an end with whole tables.
#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>

#include "base/elf_file.h"
#include "recorder/unwind/unwind_compiler.h"
#include "tests/support/modules.h"
#include "tests/support/seeded_random.h"
#include "tests/support/whole_table.h"

namespace heaptape::recorder {
namespace {

struct Section {
  std::vector<uint8_t> bytes;
  uint64_t address = 0;
  std::vector<CodeSegment> code;
};

// Of the smallest library that every C++ program has.
Section real_section() {
  const std::string path = tests::loaded_module("libgcc_s");
  const base::ElfFile elf(base::Descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC)));
  const auto place = elf.section(".eh_frame");
  EXPECT_TRUE(place) << path;
  Section section{elf.read(place->offset, place->bytes), place->address, {}};
  for (const base::ElfSegment& segment : elf.segments()) {
    if (segment.type == PT_LOAD && (segment.flags & PF_X) != 0) {
      section.code.push_back({segment.offset, segment.address, segment.file_bytes});
    }
  }
  return section;
}

void compile(const Section& section) {
  const UnwindTables tables = compile_eh_frame(section.bytes, section.address, section.code);
  ASSERT_EQ(tables.tables.size(), section.code.size());
  uint64_t rows = 0;
  for (const CompiledTable& table : tables.tables) {
    ASSERT_TRUE(tests::is_whole(table.table()));
    rows += table.table().rows;
  }
  EXPECT_EQ(rows, tables.counts.rows);
  EXPECT_LE(rows, section.bytes.size() + section.code.size());
}

TEST(DamagedEhFrame, HasWholeTablesBeforeItIsDamaged) {
  compile(real_section());
}

TEST(DamagedEhFrame, HasWholeTablesWithBytesChanged) {
  tests::SeededRandom random;
  const Section section = real_section();
  for (int round = 0; round < 200; ++round) {
    Section damaged = section;
    for (uint64_t change = random.below(200) + 1; change > 0; --change) {
      damaged.bytes[random.below(damaged.bytes.size())] = static_cast<uint8_t>(random.next());
    }
    compile(damaged);
  }
}

TEST(DamagedEhFrame, HasWholeTablesWithBitsChanged) {
  tests::SeededRandom random;
  const Section section = real_section();
  for (int round = 0; round < 200; ++round) {
    Section damaged = section;
    const uint64_t place = random.below(damaged.bytes.size());
    damaged.bytes[place] = static_cast<uint8_t>(damaged.bytes[place] ^ (1 << random.below(8)));
    compile(damaged);
  }
}

TEST(DamagedEhFrame, HasWholeTablesWhereverItIsCut) {
  tests::SeededRandom random;
  const Section section = real_section();
  for (int round = 0; round < 200; ++round) {
    Section damaged = section;
    damaged.bytes.resize(random.below(damaged.bytes.size()));
    damaged.bytes.shrink_to_fit();
    compile(damaged);
  }
}

TEST(DamagedEhFrame, HasWholeTablesOfNoise) {
  tests::SeededRandom random;
  Section section = real_section();
  for (int round = 0; round < 50; ++round) {
    for (uint8_t& byte : section.bytes) byte = static_cast<uint8_t>(random.below(64));
    compile(section);
  }
}

}  // namespace
}  // namespace heaptape::recorder
