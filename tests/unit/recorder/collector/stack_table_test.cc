#include "recorder/collector/stack_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "schema/tape/tape_reader.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::recorder {
namespace {

using schema::CodeMapping;

class StackTableTest : public testing::Test {
 protected:
  StackTableTest() { tape_->encoder().set_has_stacks(); }

  static CodeMapping mapping(uint64_t begin, uint64_t end, const std::string& path) {
    return {0, {begin, end}, 0, path, ""};
  }
  // What the tape has of code, in its order.
  std::string paths_on_tape() {
    EXPECT_TRUE(tape_->finish(schema::TapeSummary()).ok());
    auto tape = schema::TapeReader::open(dir_.file("a.tape"));
    EXPECT_TRUE(tape.ok());
    const auto stacks = tape->read_stacks();
    EXPECT_TRUE(stacks.ok());
    std::string paths;
    for (const CodeMapping& mapping : stacks->mappings()) paths += mapping.path + " ";
    return paths;
  }

  tests::TempDir dir_;
  std::unique_ptr<schema::TapeWriter> tape_ =
      std::move(*schema::TapeWriter::create(dir_.file("a.tape"), tests::sample_header()));
  StackTable table_{tape_->encoder()};
};

TEST_F(StackTableTest, GivesEachFrameANumberOfItsOwn) {
  constexpr uint32_t kFrames = 100'000;
  for (uint32_t i = 0; i < kFrames; ++i) ASSERT_EQ(table_.find_or_add({i, 0x1000}), i + 1);
  for (uint32_t i = 0; i < kFrames; ++i) ASSERT_EQ(table_.find_or_add({i, 0x1000}), i + 1);
  EXPECT_EQ(table_.find_or_add({0, 0x1001}), kFrames + 1);
}

TEST_F(StackTableTest, PutsCodeOnTheTapeOnce) {
  table_.note_code({mapping(0x1000, 0x2000, "/a"), mapping(0x3000, 0x4000, "/b")});
  table_.note_code({mapping(0x1000, 0x2000, "/a"), mapping(0x5000, 0x6000, "/c")});
  EXPECT_EQ(paths_on_tape(), "/a /b /c ");
}

TEST_F(StackTableTest, PutsCodeOnTheTapeAgainThatComesBack) {
  table_.note_code({mapping(0x1000, 0x4000, "/a")});
  table_.note_code({mapping(0x2000, 0x3000, "/b")});
  table_.note_code({mapping(0x1000, 0x4000, "/a")});
  EXPECT_EQ(paths_on_tape(), "/a /b /a ");
}

}  // namespace
}  // namespace heaptape::recorder
