#include "replayer/sites/stack_ends.h"

#include <gtest/gtest.h>

#include "replayer/engine/slot_resolver.h"
#include "tests/support/tapes.h"

namespace heaptape::replayer {
namespace {

TEST(StackEndsText, SaysWhichPartIsWhole) {
  StackEnds ends;
  ends.whole = 3;
  ends.none = 1;
  EXPECT_EQ(stack_ends_text(ends), "stacks: 75.0% of calls whole, 25.0% without a stack\n");
}

TEST(StackEndsText, SaysWhatWasGuessed) {
  StackEnds ends;
  ends.whole = 3;
  ends.cut[static_cast<size_t>(schema::StackEnd::kDepth)] = 1;
  ends.guessed = 2;
  EXPECT_EQ(
      stack_ends_text(ends),
      "stacks: 75.0% of calls whole, 25.0% too deep; 50.0% in part by frame pointers alone\n");
}

// Each is to be found by what it is about.
TEST(StackEndsText, SaysWhereStacksWereCut) {
  const std::pair<schema::StackEnd, const char*> kWords[] = {
      {schema::StackEnd::kDepth, "deep"},
      {schema::StackEnd::kUnknownCode, "unknown file"},
      {schema::StackEnd::kNoRule, "rule"},
      {schema::StackEnd::kUnreadable, "no stack"},
      {schema::StackEnd::kNoCode, "no return address"}};
  for (const auto& [end, word] : kWords) {
    StackEnds ends;
    ends.whole = 1;
    ends.cut[static_cast<size_t>(end)] = 3;
    const std::string text = stack_ends_text(ends);
    EXPECT_NE(text.find(word, text.find("75.0%")), std::string::npos) << text;
  }
}

TEST(StackEndsText, RoundsNothingToAllOrToNone) {
  StackEnds ends;
  ends.whole = 100'000;
  ends.none = 1;
  EXPECT_NE(stack_ends_text(ends).find(">99.9%"), std::string::npos) << stack_ends_text(ends);
  EXPECT_NE(stack_ends_text(ends).find("<0.1%"), std::string::npos) << stack_ends_text(ends);
}

// A guess is one of all frames further in.
TEST(StackEnds, CountCallsWithGuesses) {
  schema::Stacks stacks;
  stacks.add_frames(0, std::vector<schema::Frame>{{0, 0x1000}, {1, 0x2000, true}, {2, 0x3000}});
  StackProfile profile(stacks.limit());
  schema::EventBatch batch;
  for (schema::FrameNumber stack = 1; stack <= 3; ++stack) {
    batch.events.push_back(tests::malloc_event(1, 0x10000 * stack));
    batch.stacks.push_back(stack);
  }
  SlotResolver resolver(batch.events.size());
  ResolvedBatch resolved;
  ASSERT_TRUE(resolver.resolve(batch.events, 0, resolved).ok());
  profile.add(batch, 0, resolved.ops);
  const StackEnds ends = count_stack_ends(stacks, profile);
  EXPECT_EQ(ends.whole, 3u);
  EXPECT_EQ(ends.guessed, 2u);
}

}  // namespace
}  // namespace heaptape::replayer
