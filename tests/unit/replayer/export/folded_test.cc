#include "replayer/export/stack_formats.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/exports.h"

namespace heaptape::replayer {
namespace {

std::string folded(StackValue value) {
  return folded_text(tests::SampleStacks().shown(), value);
}

TEST(FoldedStacks, HaveTheOutermostFrameFirst) {
  EXPECT_EQ(folded(StackValue::kPeak), "main;parse(int);lex 400\nmain;read 7\n");
}

TEST(FoldedStacks, LeaveOutWhatHasNoValue) {
  EXPECT_EQ(folded(StackValue::kTemporaries), "(no stack) 1\n");
  EXPECT_EQ(folded(StackValue::kEnd), "main;parse(int);lex 300\nmain;read 7\n");
}

TEST(FoldedStacks, AddUpToTheTape) {
  EXPECT_EQ(folded(StackValue::kBytes), "(no stack) 10\nmain;parse(int);lex 400\nmain;read 57\n");
  EXPECT_EQ(folded(StackValue::kCalls), "(no stack) 1\nmain;parse(int);lex 2\nmain;read 2\n");
}

TEST(FoldedStacks, KeepNamesInTheirPlaces) {
  const Symbols symbols({{}, {"/opt/app", 1, {{"a::b<[u8; 4]>\nc", "", 0}}}}, {0, 1, 1, 1, 1});
  const tests::SampleStacks sample({}, symbols);
  const std::string text = folded_text(sample.shown(), StackValue::kEnd);
  EXPECT_EQ(text.substr(0, text.find(' ')), "a::b<[u8:");
  EXPECT_EQ(std::ranges::count(text, ';'), 1);
  EXPECT_EQ(std::ranges::count(text, '\n'), 1);
}

}  // namespace
}  // namespace heaptape::replayer
