#include "recorder/collector/stack_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "schema/tape/stack_end.h"
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
  schema::Stacks finish(schema::TapeWriter& writer, const std::string& name) {
    EXPECT_TRUE(writer.finish(schema::TapeSummary()).ok());
    auto tape = schema::TapeReader::open(dir_.file(name));
    EXPECT_TRUE(tape.ok());
    auto stacks = tape->read_stacks();
    EXPECT_TRUE(stacks.ok());
    return std::move(*stacks);
  }
  static std::string paths(const schema::Stacks& stacks) {
    std::string paths;
    for (const CodeMapping& mapping : stacks.mappings()) paths += mapping.path + " ";
    return paths;
  }
  // What the tape has of code, in its order.
  std::string paths_on_tape() { return paths(finish(*tape_, "a.tape")); }

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

// That of the next interval.
TEST_F(StackTableTest, PutsAllThatItKnowsOntoAnotherTape) {
  table_.note_code({mapping(0x1000, 0x2000, "/a")});
  const schema::FrameNumber caller = table_.find_or_add({0, 0x1101});
  EXPECT_EQ(table_.find_or_add({caller, 0x1201}), 2u);
  auto next = schema::TapeWriter::create(dir_.file("b.tape"), tests::sample_header());
  ASSERT_TRUE(next.ok());
  (*next)->encoder().set_has_stacks();
  table_.change_tape((*next)->encoder());
  EXPECT_EQ(table_.find_or_add({caller, 0x1201}), 2u);
  EXPECT_EQ(table_.find_or_add({caller, 0x1301}), 3u);
  const schema::Stacks stacks = finish(**next, "b.tape");
  EXPECT_EQ(paths(stacks), "/a ");
  EXPECT_EQ(stacks.limit(), 4u);
  EXPECT_EQ(paths_on_tape(), "/a ");
}

TEST_F(StackTableTest, PutsCodeOnTheTapeAgainThatComesBack) {
  table_.note_code({mapping(0x1000, 0x4000, "/a")});
  table_.note_code({mapping(0x2000, 0x3000, "/b")});
  table_.note_code({mapping(0x1000, 0x4000, "/a")});
  EXPECT_EQ(paths_on_tape(), "/a /b /a ");
}

TEST_F(StackTableTest, KnowsCallsOfNoFile) {
  table_.note_code({mapping(0x1000, 0x2000, "/a"), mapping(0x3000, 0x4000, "/b")});
  for (const uint64_t address : {0x1001, 0x1000, 0x2000, 0x2001, 0x3500, 0x1800, 0x9000}) {
    table_.find_or_add({0, address});
    table_.find_or_add({0, address});
  }
  table_.find_or_add({0, 3});  // the mark of a cut stack
  EXPECT_EQ(table_.take_calls_of_no_file(), (std::vector<uint64_t>{0xfff, 0x2000, 0x8fff}));
  EXPECT_TRUE(table_.take_calls_of_no_file().empty());
  table_.note_code({mapping(0x1f00, 0x9000, "/c")});
  table_.find_or_add({0, 0x1801});  // of what was there before
  table_.find_or_add({0, 0x8001});
  EXPECT_EQ(table_.take_calls_of_no_file(), std::vector<uint64_t>{0x1800});
}

TEST_F(StackTableTest, KnowsWhereFramePointersLedNowhere) {
  const auto frame_of = [this](uint64_t caller, uint64_t address) {
    return table_.find_or_add({static_cast<schema::FrameNumber>(caller), address});
  };
  const auto unreadable = frame_of(0, static_cast<uint64_t>(schema::StackEnd::kUnreadable));
  const auto too_deep = frame_of(0, static_cast<uint64_t>(schema::StackEnd::kDepth));
  const auto two = frame_of(frame_of(unreadable, 0x1000), 0x2000);
  EXPECT_TRUE(table_.ends_at_once(two));
  EXPECT_FALSE(table_.ends_at_once(frame_of(two, 0x3000)));
  EXPECT_FALSE(table_.ends_at_once(frame_of(too_deep, 0x1000)));
  EXPECT_FALSE(table_.ends_at_once(frame_of(0, 0x1000)));
}

// One function may be known to keep a frame pointer in one place, and be guessed at in another.
TEST_F(StackTableTest, TellsGuessesFromWhatIsKnown) {
  const auto known = table_.find_or_add({0, 0x1000, false});
  const auto guessed = table_.find_or_add({0, 0x1000, true});
  EXPECT_NE(known, guessed);
  EXPECT_EQ(table_.find_or_add({0, 0x1000, true}), guessed);
}

}  // namespace
}  // namespace heaptape::recorder
