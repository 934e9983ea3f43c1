#include "replayer/report/pin_callers.h"

#include <gtest/gtest.h>

#include "tests/support/stack_tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::replayer {
namespace {

// Live blocks of calls #1 (lex), #2 and #3 (read), and #6, which has no stack. All are of 48 bytes
// by now; the calls asked for 100, 50, 7 and 10.
class CallersOfPins : public testing::Test {
 protected:
  void record(const schema::StackRecording& recording) {
    tests::write_stack_tape(dir_.file("a.tape"), recording);
    picture_.blocks = {{0x10010, 64, 48, 1, 0},
                       {0x20010, 64, 48, 2, 0},
                       {0x30010, 64, 48, 3, 0},
                       {0x40010, 64, 48, 6, 0}};
    auto tape = schema::TapeReader::open(dir_.file("a.tape"));
    calls_.emplace(*CallSites::read(*tape, sites_, calls_to_name(picture_, {})));
  }
  PinCallers of(const PinGroup& group) const {
    return pin_callers(picture_, {{group}}, *calls_)[0];
  }
  static PinGroup group(std::vector<size_t> blocks) {
    return {.size_bytes = 48, .count = blocks.size(), .blocks = std::move(blocks)};
  }

  tests::TempDir dir_;
  Symbols symbols_ = tests::sample_symbols();
  Sites sites_{tests::sample_stacks(), symbols_, SiteRules()};
  HeapPicture picture_;
  std::optional<CallSites> calls_;
};

const schema::StackRecording kSampled{schema::StackMode::kUnwindTables, 64, 524'288};

TEST_F(CallersOfPins, AreThoseOfOtherBlocksOfTheSizeIfNoneHasAStack) {
  record(kSampled);
  const PinGroup pins = group({3});
  const PinCallers callers = of(pins);
  EXPECT_TRUE(callers.is_sampled);
  EXPECT_EQ(callers.with_stack, 0u);
  EXPECT_EQ(callers.most.blocks, 0u);
  EXPECT_EQ(callers.sampled_like, 3u);
  EXPECT_EQ(most_text(callers, pins, sites_), "no stack sampled");
  EXPECT_EQ(like_text(callers, pins, sites_),
            "of 3 sampled blocks of 48 bytes, 2 were asked for by read (app.cc:40), 1 by lex "
            "(lex.h:3)");
}

TEST_F(CallersOfPins, AreCountedAmongThoseWithStacks) {
  record(kSampled);
  const PinGroup pins = group({1, 2, 3});
  const PinCallers callers = of(pins);
  EXPECT_EQ(callers.with_stack, 2u);
  EXPECT_EQ(most_text(callers, pins, sites_), "for read (app.cc:40), 2 of the 2 blocks sampled");
}

TEST_F(CallersOfPins, AreNotComparedWithOthersIfAllOfTheSizeAreInTheGroup) {
  record(kSampled);
  const PinGroup pins = group({0, 1, 2, 3});
  EXPECT_EQ(like_text(of(pins), pins, sites_), "");
}

// Call #6 asked for 10 bytes, and its block was resized.
TEST_F(CallersOfPins, AreKnownIfTheSizeThatWasAskedForIsRecorded) {
  record(kSampled);
  const PinCallers callers = of(group({3}));
  EXPECT_EQ(callers.advised_bytes, 10u);
  EXPECT_EQ(stacks_to_record({{callers}}, *calls_), "dwarf,every=512KiB,size=10");
}

TEST_F(CallersOfPins, AreNotAdvisedWhereTheSizeIsComplete) {
  record({schema::StackMode::kUnwindTables, 64, 524'288, {{10, 10}}});
  const PinGroup pins = group({3});
  const PinCallers callers = of(pins);
  EXPECT_FALSE(callers.is_sampled);
  EXPECT_EQ(stacks_to_record({{callers}}, *calls_), "");
  EXPECT_EQ(most_text(callers, pins, sites_), "for (no stack)");
}

TEST_F(CallersOfPins, KeepTheSizesThatAreRecordedAlready) {
  record({schema::StackMode::kFramePointers, 30, 0, {{48, 48}}});
  EXPECT_EQ(stacks_to_record({{of(group({3}))}}, *calls_), "fp,depth=30,size=10+48");
}

TEST_F(CallersOfPins, AreExactWhereAllStacksAreKnown) {
  record({});
  const PinGroup pins = group({0, 1, 2});
  const PinCallers callers = of(pins);
  EXPECT_FALSE(callers.is_sampled);
  EXPECT_EQ(most_text(callers, pins, sites_), "for read (app.cc:40), 2 of them");
  EXPECT_EQ(like_text(callers, pins, sites_), "");
  EXPECT_EQ(stacks_to_record({{callers}}, *calls_), "");
}

}  // namespace
}  // namespace heaptape::replayer
