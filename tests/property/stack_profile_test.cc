// What stacks come to, against what the tape has as a whole and against a slow count.
#include "replayer/sites/stack_profile.h"

#include <gtest/gtest.h>

#include <map>

#include "replayer/engine/slot_resolver.h"
#include "tests/support/tapes.h"

namespace heaptape::replayer {
namespace {

using schema::FrameNumber;

class StacksOfAnyTape : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    tests::Random random(tests::test_seed());
    events_ = tests::eventful_events(random, 20'000, 16, GetParam());
    for (size_t i = 0; i < events_.size(); ++i) {
      stacks_.push_back(static_cast<FrameNumber>(random.below(40)));
    }
    for (size_t begin = 0; begin < events_.size(); begin += kBatch) add_batch(begin);
    resolver_.finish();
    profile_.for_each([this](FrameNumber stack, const StackTotals& totals) {
      EXPECT_TRUE(totals_.emplace(stack, totals).second);
      sum_ += totals;
    });
  }
  void add_batch(size_t begin) {
    const size_t count = std::min(kBatch, events_.size() - begin);
    schema::EventBatch batch;
    batch.events.assign(events_.begin() + begin, events_.begin() + begin + count);
    batch.stacks.assign(stacks_.begin() + begin, stacks_.begin() + begin + count);
    ResolvedBatch resolved;
    ASSERT_TRUE(resolver_.resolve(batch.events, begin, resolved).ok());
    profile_.add(batch, begin, resolved.ops);
    ops_.insert(ops_.end(), resolved.ops.begin(), resolved.ops.end());
  }
  // Live bytes of each stack after so many calls.
  std::map<FrameNumber, uint64_t> live_after(uint64_t calls) const {
    std::map<uint32_t, std::pair<FrameNumber, uint64_t>> blocks;
    for (uint64_t i = 0; i < calls; ++i) {
      const allocators::ReplayOp& op = ops_[i];
      using enum allocators::ReplayKind;
      if (op.kind == kNothing || op.kind == kFreeNull) continue;
      if (op.kind == kFree) {
        blocks.erase(op.slot);
      } else {
        blocks[op.slot] = {stacks_[i], events_[i].size};
      }
    }
    std::map<FrameNumber, uint64_t> live;
    for (const auto& [slot, block] : blocks) live[block.first] += block.second;
    return live;
  }

  static constexpr size_t kBatch = 1000;
  std::vector<schema::Event> events_;
  std::vector<FrameNumber> stacks_;
  std::vector<allocators::ReplayOp> ops_;
  SlotResolver resolver_;
  StackProfile profile_{40, std::vector<uint32_t>(40)};
  std::map<FrameNumber, StackTotals> totals_;
  StackTotals sum_;
};

TEST_P(StacksOfAnyTape, ComeToWhatTheTapeHas) {
  const LiveMetrics& live = resolver_.live();
  EXPECT_EQ(sum_.asked_bytes, live.values().cumulative_bytes_upper);
  EXPECT_EQ(sum_.live_bytes, live.values().live_bytes);
  EXPECT_EQ(sum_.live_count, live.values().live_count);
  EXPECT_EQ(sum_.temporaries, live.values().temporaries);
  EXPECT_EQ(sum_.peak_bytes, live.live_bytes_peak().value);
  EXPECT_EQ(profile_.peak_at(), live.live_bytes_peak().at);
  EXPECT_EQ(sum_.freed_by_others, resolver_.foreign_releases());
  EXPECT_EQ(sum_.moved_bytes, resolver_.program().growth_chains().moved_bytes());
  EXPECT_EQ(profile_.lifetimes().totals(1)[0], resolver_.program().lifetimes().in_calls().total());
}

TEST_P(StacksOfAnyTape, HaveTheirBytesAtThePeakAndAtTheEnd) {
  auto at_peak = live_after(profile_.peak_at());
  auto at_end = live_after(events_.size());
  for (const auto& [stack, totals] : totals_) {
    EXPECT_EQ(totals.peak_bytes, at_peak[stack]) << stack;
    EXPECT_EQ(totals.live_bytes, at_end[stack]) << stack;
  }
}

INSTANTIATE_TEST_SUITE_P(Losses, StacksOfAnyTape, testing::Bool());

}  // namespace
}  // namespace heaptape::replayer
