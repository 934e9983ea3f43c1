// heaptape export: stacks for viewers of profiles.
#include <gtest/gtest.h>

#include <regex>

#include "tests/support/golden.h"
#include "tests/support/programs.h"
#include "tests/support/stack_tapes.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

using tests::Ended;
using tests::expect_refusal;
using tests::run;

class ExportCommand : public testing::Test {
 protected:
  ExportCommand() { tests::write_stack_tape(tape_); }
  Ended exported(const std::vector<std::string>& options) const {
    std::vector<std::string> words{"heaptape", "export", tape_};
    words.insert(words.end(), options.begin(), options.end());
    return run(words);
  }

  tests::TempDir dir_;
  std::string tape_ = dir_.file("a.tape");
  std::string file_ = dir_.file("a.out");
};

TEST_F(ExportCommand, WritesFoldedStacks) {
  EXPECT_EQ(exported({"--format", "folded"}).out,
            "app+0x100;app+0x200 400\napp+0x100;app+0x400 7\n");
}

TEST_F(ExportCommand, WeighsThemAsAsked) {
  EXPECT_EQ(exported({"--format", "folded", "--value", "temporaries"}).out, "(no stack) 1\n");
}

TEST_F(ExportCommand, FiltersThem) {
  EXPECT_EQ(exported({"--format", "folded", "--hide", "0x100", "--only", "site~0x4"}).out,
            "app+0x400 7\n");
}

TEST_F(ExportCommand, WritesFiles) {
  EXPECT_EQ(exported({"--format", "speedscope", "-o", file_}).out, "");
  EXPECT_NE(tests::read_bytes(file_).find("\"endValue\":407"), std::string::npos);
}

// By the schema that is published, every field is known.
TEST_F(ExportCommand, WritesWhatProtocReads) {
  if (run({"protoc", "--version"}).status != 0) GTEST_SKIP() << "protoc is not installed";
  ASSERT_EQ(exported({"--format", "pprof", "-o", file_}).status, 0);
  const std::string folder = tests::golden_path("../support");
  const Ended decoded = run({"sh", "-c",
                             "gzip -dc \"$0\" | protoc --decode=perftools.profiles.Profile "
                             "--proto_path=\"$1\" \"$1/profile.proto\"",
                             file_, folder});
  EXPECT_EQ(decoded.status, 0) << decoded.err;
  EXPECT_FALSE(std::regex_search(decoded.out, std::regex("(^|\n) *[0-9]+:"))) << decoded.out;
  for (const char* part : {"string_table: \"peak_bytes\"", "string_table: \"app+0x200\"",
                           "value: 300", "memory_start: 4194304", "has_inline_frames: true"}) {
    EXPECT_NE(decoded.out.find(part), std::string::npos) << part << " in " << decoded.out;
  }
}

// tests/python/trace_export_test.py has the rest.
TEST_F(ExportCommand, WritesTraces) {
  for (const char* const format : {"perfetto", "firefox"}) {
    EXPECT_EQ(exported({"--format", format, "-o", file_}).out, "");
    EXPECT_NE(tests::read_bytes(file_).find("app+0x200"), std::string::npos) << format;
  }
}

// They were not sampled, whatever others were.
TEST_F(ExportCommand, WeighsCallsOfCompleteSizesAsOne) {
  schema::StackRecording recording{
      .mode = schema::StackMode::kFramePointers, .depth = 8, .sizes = {{1, 1000}}};
  for (const char* const format : {"firefox", "folded"}) {
    recording.every_bytes = 0;
    tests::write_stack_tape(tape_, recording);
    const std::string alone = exported({"--format", format}).out;
    recording.every_bytes = 1000;
    tests::write_stack_tape(tape_, recording);
    EXPECT_TRUE(exported({"--format", format}).out == alone) << format;
    EXPECT_FALSE(alone.empty());
  }
}

TEST_F(ExportCommand, WritesTracesWithoutStacks) {
  tests::write_tape(tape_, {tests::malloc_event(1, 0x1000)});
  const Ended ended = exported({"--format", "firefox"});
  EXPECT_EQ(ended.status, 0);
  EXPECT_NE(ended.err.find("no call stacks"), std::string::npos) << ended.err;
  EXPECT_NE(ended.out.find("\"liveBytes\""), std::string::npos);
}

TEST_F(ExportCommand, TracesNeedStacksToFilter) {
  tests::write_tape(tape_, {tests::malloc_event(1, 0x1000)});
  expect_refusal(exported({"--format", "perfetto", "--only", "site~a"}), "has no call stacks");
}

TEST_F(ExportCommand, DoesNotWriteOverTheTape) {
  expect_refusal(exported({"--format", "folded", "-o", tape_}), "is the tape");
}

TEST_F(ExportCommand, WantsAFormat) {
  expect_refusal(exported({}), "--format");
}

TEST_F(ExportCommand, NeedsStacks) {
  tests::write_tape(tape_, {tests::malloc_event(1, 0x1000)});
  expect_refusal(exported({"--format", "folded"}), "has no call stacks");
}

}  // namespace
}  // namespace heaptape
