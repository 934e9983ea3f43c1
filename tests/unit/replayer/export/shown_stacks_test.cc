#include "replayer/export/shown_stacks.h"

#include <gtest/gtest.h>

#include "tests/support/exports.h"
#include "tests/support/stack_tapes.h"

namespace heaptape::replayer {
namespace {

// The functions of a stack, the innermost first.
std::string text(const tests::SampleStacks& sample, uint64_t asked_bytes) {
  std::string names;
  for (const ShownFrame frame : sample.shown().frames_of(*sample.find(asked_bytes))) {
    sample.shown().for_each_line(frame, [&](const CodePlace& place, const SourceFrame* source) {
      names += frame_name(place, source) + " ";
    });
  }
  return names;
}

TEST(ShownStacks, BeginAtTheirSite) {
  EXPECT_EQ(text(tests::SampleStacks(), 100), "lex parse(int) main ");
}

TEST(ShownStacks, LackTheFramesThatAreHidden) {
  EXPECT_EQ(text(tests::SampleStacks({.hide = {"lex"}}), 100), "parse(int) main ");
  EXPECT_EQ(text(tests::SampleStacks({.hide = {"parse"}}), 100), "lex main ");
  EXPECT_EQ(text(tests::SampleStacks({.hide = {"main"}}), 57), "read ");
}

TEST(ShownStacks, AreThoseOfSitesThatAreShown) {
  const tests::SampleStacks sample({.only = "site~read"});
  EXPECT_EQ(sample.shown().list().size(), 1u);
  EXPECT_NE(sample.find(57), nullptr);
}

TEST(ShownStacks, AreWholeWhereAllIsPassedOver) {
  EXPECT_EQ(text(tests::SampleStacks({.hide = {"/opt/app"}}), 100), "operator new(unsigned long) ");
}

TEST(ShownStacks, AreEmptyWhereNothingIsKnown) {
  EXPECT_EQ(text(tests::SampleStacks(), 10), "");
  EXPECT_EQ(text(tests::SampleStacks({.hide = {"."}}), 100), "");
}

TEST(ShownStacks, SayWhyTheyAreEmpty) {
  const tests::SampleStacks hidden({.hide = {"."}});
  EXPECT_EQ(hidden.shown().name_without_frames(*hidden.find(100)), "(hidden)");
  EXPECT_EQ(hidden.shown().name_without_frames(*hidden.find(10)), "(no stack)");
}

// What lies behind an initializer is a part of its library.
TEST(ShownStacks, BeginAtAnInitialiserThatTheLoaderCalled) {
  schema::Stacks stacks;
  stacks.add_frames(0, std::vector<schema::Frame>{{0, 100}, {1, 200}, {2, 300}});
  const Symbols symbols({{},
                         {"/lib64/ld-linux-x86-64.so.2", 1, {{"call_init", "", 0}}},
                         {"/usr/lib/libstdc++.so.6", 2, {}},
                         {"/usr/lib/libstdc++.so.6", 3, {}}},
                        {0, 1, 2, 3});
  const ShownStacks shown(stacks, symbols, {}, {{.number = 3, .totals = {.calls = 1}}});
  const std::vector<ShownFrame> frames = shown.frames_of(shown.list().at(0));
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(shown.place_of(frames[0]).offset, 2u);
}

// A damaged tape may have stacks of millions of frames.
TEST(ShownStacks, HaveABoundedNumberOfFrames) {
  schema::Stacks stacks;
  std::vector<schema::Frame> frames;
  for (uint32_t caller = 0; caller < 5000; ++caller) frames.push_back({caller, 100});
  stacks.add_frames(0, frames);
  const Symbols symbols({{}, {"/opt/app", 1, {}}}, std::vector<uint32_t>(5001, 1));
  StackProfile profile(5001);
  schema::EventBatch batch;
  batch.events.push_back({schema::Op::kMalloc, 0, 1, 0, 0x1000, 0});
  batch.stacks.push_back(5000);
  const allocators::ReplayOp op{.kind = allocators::ReplayKind::kMalloc, .size = 1};
  profile.add(batch, 0, {&op, 1});
  const ShownStacks shown(stacks, symbols, {}, profile);
  EXPECT_EQ(shown.frames_of(shown.list().at(0)).size(), kMostShownFrames);
}

}  // namespace
}  // namespace heaptape::replayer
