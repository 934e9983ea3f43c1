#include "replayer/sites/stack_profile.h"

#include <gtest/gtest.h>

#include <map>

#include "replayer/engine/slot_resolver.h"
#include "tests/support/tapes.h"

namespace heaptape::replayer {
namespace {

using schema::Event;
using tests::free_event;
using tests::malloc_event;
using tests::realloc_event;

constexpr uint64_t kFirst = 0x10000;
constexpr uint64_t kSecond = 0x20000;
constexpr uint64_t kC = 0x30000;

class AStackProfile : public testing::Test {
 protected:
  // Calls, and the stack of each.
  void of(const std::vector<std::pair<Event, schema::FrameNumber>>& calls) {
    SlotResolver resolver(calls.size());
    schema::EventBatch batch;
    ResolvedBatch resolved;
    for (const auto& [event, stack] : calls) {
      batch.events.push_back(event);
      batch.stacks.push_back(stack);
    }
    batch.mapped = mapped_;
    EXPECT_TRUE(resolver.resolve(batch.events, 0, resolved).ok());
    profile_.add(batch, 0, resolved.ops);
    profile_.for_each(
        [this](schema::FrameNumber stack, const StackTotals& totals) { stacks_[stack] = totals; });
  }

  std::vector<schema::MappingCall> mapped_;
  StackProfile profile_{4, {0, 0, 1, 2}};
  std::map<schema::FrameNumber, StackTotals> stacks_;
};

TEST_F(AStackProfile, CountsCallsAndWhatTheyAskedFor) {
  of({{malloc_event(100, kFirst), 1}, {malloc_event(20, kSecond), 2}, {malloc_event(3, kC), 1}});
  EXPECT_EQ(stacks_[1].calls, 2u);
  EXPECT_EQ(stacks_[1].asked_bytes, 103u);
  EXPECT_EQ(stacks_[2].live_bytes, 20u);
  EXPECT_EQ(stacks_[1].live_count, 2u);
}

TEST_F(AStackProfile, KnowsWhoseResizesHadToCopy) {
  of({{malloc_event(100, kFirst), 1},
      {realloc_event(kFirst, 300, kSecond), 2},
      {realloc_event(kSecond, 400, kSecond), 2},
      {realloc_event(kSecond, 50, kC), 3}});
  EXPECT_EQ(stacks_[1].moved_bytes, 0u);
  EXPECT_EQ(stacks_[2].moved_bytes, 100u);
  EXPECT_EQ(stacks_[3].moved_bytes, 50u);
}

TEST_F(AStackProfile, LeavesFailedCallsAndUnknownFreesOut) {
  of({{malloc_event(100, 0), 1}, {free_event(kSecond), 0}, {free_event(0), 0}});
  EXPECT_TRUE(stacks_.empty());
}

TEST_F(AStackProfile, GivesABlockToTheStackThatResizedItLast) {
  of({{malloc_event(100, kFirst), 1}, {realloc_event(kFirst, 300, kSecond), 2}});
  EXPECT_EQ(stacks_[1].live_count, 0u);
  EXPECT_EQ(stacks_[1].asked_bytes, 100u);
  EXPECT_EQ(stacks_[2].live_bytes, 300u);
  EXPECT_EQ(stacks_[2].calls, 1u);
}

TEST_F(AStackProfile, KeepsTheBlockOfAResizeThatFailed) {
  of({{malloc_event(100, kFirst), 1}, {realloc_event(kFirst, 300, 0), 2}});
  EXPECT_EQ(stacks_[1].live_bytes, 100u);
  EXPECT_FALSE(stacks_.contains(2));
}

TEST_F(AStackProfile, HasWhatEachHadAtThePeak) {
  of({{malloc_event(100, kFirst), 1},
      {malloc_event(50, kSecond), 2},
      {free_event(kFirst), 0},
      {malloc_event(70, kFirst), 2}});
  EXPECT_EQ(profile_.peak_at(), 2u);
  EXPECT_EQ(stacks_[1].peak_bytes, 100u);
  EXPECT_EQ(stacks_[2].peak_bytes, 50u);
  EXPECT_EQ(stacks_[2].peak_count, 1u);
  EXPECT_EQ(stacks_[2].live_bytes, 120u);
}

TEST_F(AStackProfile, TakesTheFirstOfEqualPeaks) {
  of({{malloc_event(100, kFirst), 1}, {free_event(kFirst), 0}, {malloc_event(100, kFirst), 2}});
  EXPECT_EQ(profile_.peak_at(), 1u);
  EXPECT_EQ(stacks_[1].peak_bytes, 100u);
  EXPECT_EQ(stacks_[2].peak_bytes, 0u);
}

TEST_F(AStackProfile, HasNothingAtThePeakOfWhatCameAfterIt) {
  of({{malloc_event(100, kFirst), 1}, {free_event(kFirst), 0}, {malloc_event(10, kSecond), 3}});
  EXPECT_EQ(stacks_[3].peak_bytes, 0u);
  EXPECT_EQ(stacks_[3].live_bytes, 10u);
}

TEST_F(AStackProfile, KnowsAPeakThatAResizeMade) {
  of({{malloc_event(100, kFirst), 1},
      {realloc_event(kFirst, 300, kFirst), 2},
      {free_event(kFirst), 0}});
  EXPECT_EQ(profile_.peak_at(), 2u);
  EXPECT_EQ(stacks_[1].peak_bytes, 0u);
  EXPECT_EQ(stacks_[2].peak_bytes, 300u);
}

TEST_F(AStackProfile, CountsWhatCallsMapped) {
  using schema::MappingOp;
  const auto map = [](uint64_t event, MappingOp op, uint64_t pages, schema::FrameNumber stack) {
    return schema::MappingCall{
        .event = event, .op = op, .range = {0, pages * 4096}, .stack = stack};
  };
  mapped_ = {map(0, MappingOp::kMap, 1, 3),         map(0, MappingOp::kGrowBreak, 2, 1),
             map(1, MappingOp::kMap, 4, 1),         map(1, MappingOp::kUnmap, 8, 1),
             map(1, MappingOp::kShrinkBreak, 8, 1), map(1, MappingOp::kProtect, 8, 1),
             map(1, MappingOp::kAdvise, 8, 1),      map(1, MappingOp::kMap, 16, 99),
             map(2, MappingOp::kMap, 32, 2)};  // after the last call
  of({{malloc_event(100, kFirst), 1}});
  EXPECT_EQ(stacks_[1].mapped_bytes, 6u * 4096);
  EXPECT_EQ(stacks_[3].mapped_bytes, 4096u);
  EXPECT_EQ(stacks_[3].calls, 0u);
  EXPECT_EQ(stacks_[0].mapped_bytes, 16u * 4096);
  EXPECT_FALSE(stacks_.contains(2));
}

TEST_F(AStackProfile, CountsTemporaries) {
  of({{malloc_event(1, kFirst), 1},
      {free_event(kFirst), 0},
      {malloc_event(1, kFirst), 1},
      {realloc_event(kFirst, 2, kFirst), 2},
      {free_event(kFirst), 0}});
  EXPECT_EQ(stacks_[1].temporaries, 1u);
  EXPECT_EQ(stacks_[2].temporaries, 0u);
}

TEST_F(AStackProfile, CountsWhatOtherThreadsFreed) {
  of({{malloc_event(1, kFirst, 0), 1},
      {free_event(kFirst, 1), 0},
      {malloc_event(1, kFirst, 1), 1},
      {free_event(kFirst, 1), 0}});
  EXPECT_EQ(stacks_[1].freed_by_others, 1u);
}

TEST_F(AStackProfile, KeepsLifetimesByGroup) {
  of({{malloc_event(1, kFirst), 2},
      {malloc_event(1, kSecond), 3},
      {free_event(kFirst), 0},
      {free_event(0), 0},
      {free_event(kSecond), 0}});
  EXPECT_EQ(profile_.lifetimes().totals(3), (std::vector<uint64_t>{0, 1, 1}));
  EXPECT_EQ(profile_.lifetimes().values_at({1, 1, 1})[2], 2u);
}

// A damaged tape may have any.
TEST_F(AStackProfile, TakesStacksThatTheTapeLacksForNone) {
  of({{malloc_event(1, kFirst), 4}, {free_event(kFirst), 0}});
  EXPECT_EQ(stacks_[0].calls, 1u);
  EXPECT_EQ(stacks_.size(), 1u);
}

TEST_F(AStackProfile, HasOneStackWhereTheTapeHasNone) {
  schema::EventBatch batch;
  batch.events = {malloc_event(1, kFirst)};
  const allocators::ReplayOp op{.kind = allocators::ReplayKind::kMalloc, .size = 1};
  profile_.add(batch, 0, {&op, 1});
  profile_.for_each([](schema::FrameNumber stack, const StackTotals& totals) {
    EXPECT_EQ(stack, 0u);
    EXPECT_EQ(totals.calls, 1u);
  });
}

}  // namespace
}  // namespace heaptape::replayer
