// What the stacks of some calls say of all.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "replayer/engine/slot_resolver.h"
#include "replayer/sites/stack_profile.h"
#include "tests/support/tapes.h"

namespace heaptape::replayer {
namespace {

using schema::FrameNumber;
using tests::free_event;
using tests::malloc_event;

constexpr uint64_t kA = 0x10000;
constexpr uint64_t kB = 0x20000;

void add(StackProfile& profile, const schema::EventBatch& batch) {
  SlotResolver resolver(batch.events.size());
  ResolvedBatch resolved;
  ASSERT_TRUE(resolver.resolve(batch.events, 0, resolved).ok());
  profile.add(batch, 0, resolved.ops);
}

void add(StackProfile& profile, std::vector<schema::Event> events,
         std::vector<FrameNumber> stacks) {
  schema::EventBatch batch;
  batch.events = std::move(events);
  batch.stacks = std::move(stacks);
  add(profile, batch);
}

std::map<FrameNumber, StackTotals> totals_of(const StackProfile& profile) {
  std::map<FrameNumber, StackTotals> stacks;
  profile.for_each(
      [&stacks](FrameNumber stack, const StackTotals& totals) { stacks[stack] = totals; });
  return stacks;
}

TEST(ASampleWeight, IsTheInverseOfTheChance) {
  const SampleWeight weight(1000);
  EXPECT_DOUBLE_EQ(weight.of(1000), 1 / (1 - std::exp(-1.0)));
  EXPECT_NEAR(weight.of(1), 1000.5, 0.001);
  EXPECT_EQ(weight.of(0), weight.of(1));
  EXPECT_EQ(weight.of(UINT64_MAX), 1.0);
  EXPECT_EQ(SampleWeight().of(1), 1.0);
}

TEST(ASampledProfile, CountsACallForAsManyAsItStandsFor) {
  StackProfile profile(4, {0, 0, 1, 2}, SampleWeight(1000));
  add(profile, {malloc_event(10, kA), malloc_event(1000, kB), free_event(kA)}, {1, 2, 0});
  const auto stacks = totals_of(profile);
  EXPECT_EQ(stacks.at(1).calls, 101u);  // 100.5
  EXPECT_EQ(stacks.at(1).asked_bytes, 1005u);
  EXPECT_EQ(stacks.at(1).live_bytes, 0u);
  EXPECT_EQ(stacks.at(1).peak_bytes, 1005u);
  EXPECT_EQ(stacks.at(2).live_count, 2u);  // 1.58
  EXPECT_EQ(stacks.at(2).live_bytes, 1582u);
  EXPECT_EQ(profile.sampled_calls(), 2u);
  EXPECT_EQ(profile.lifetimes().totals(2)[0], 102'912u);  // 100.5 in units of 1 / 1024
}

TEST(ASampledProfile, HasTheExactTotalsOfAllCallsBesides) {
  StackProfile profile(4, {}, SampleWeight(1000));
  add(profile, {malloc_event(10, kA), malloc_event(30, kB), free_event(kA)}, {1, 0, 0});
  EXPECT_FALSE(totals_of(profile).contains(0));
  const StackTotals whole = profile.whole_tape();
  EXPECT_EQ(whole.calls, 2u);
  EXPECT_EQ(whole.asked_bytes, 40u);
  EXPECT_EQ(whole.peak_bytes, 40u);
  EXPECT_EQ(whole.live_bytes, 30u);
  EXPECT_EQ(profile.peak_at(), 2u);
}

TEST(ASampledProfile, SurvivesSizesThatNoCallHas) {
  StackProfile profile(4, {0, 0, 1, 2}, SampleWeight(UINT64_MAX));
  add(profile, {malloc_event(UINT64_MAX, kA), free_event(kA)}, {1, 0});
  EXPECT_EQ(totals_of(profile).at(1).live_bytes, 0u);
}

// Calls of a random tape chosen over and over again: what they say is right on average.
class EstimatesOfASampledProfile : public testing::Test {
 protected:
  static constexpr uint64_t kEvery = 200;
  static constexpr int kRounds = 400;

  void SetUp() override {
    all_.events = tests::eventful_events(random_, 2'000, 16, false);
    for (size_t i = 0; i < all_.events.size(); ++i) all_.stacks.push_back(1 + random_.below(3));
    StackProfile exact(4);
    add(exact, all_);
    exact_ = totals_of(exact);
  }
  void choose_and_add() {
    schema::EventBatch chosen = all_;
    for (size_t i = 0; i < chosen.events.size(); ++i) {
      const double chance = 1 / SampleWeight(kEvery).of(chosen.events[i].size);
      if (static_cast<double>(random_.below(1'000'000)) >= 1e6 * chance) chosen.stacks[i] = 0;
    }
    StackProfile profile(4, {}, SampleWeight(kEvery));
    add(profile, chosen);
    for (const auto& [stack, totals] : totals_of(profile)) sums_[stack] += totals;
  }
  static void expect_near(uint64_t sum, uint64_t exact, const char* what) {
    const double mean = static_cast<double>(sum) / kRounds;
    EXPECT_NEAR(mean, static_cast<double>(exact), 0.06 * static_cast<double>(exact) + 2) << what;
  }

  tests::Random random_{tests::test_seed()};
  schema::EventBatch all_;
  std::map<FrameNumber, StackTotals> exact_;
  std::map<FrameNumber, StackTotals> sums_;
};

TEST_F(EstimatesOfASampledProfile, AreRightOnAverage) {
  for (int round = 0; round < kRounds; ++round) choose_and_add();
  for (const auto& [stack, exact] : exact_) {
    const StackTotals& sum = sums_[stack];
    expect_near(sum.calls, exact.calls, "calls");
    expect_near(sum.asked_bytes, exact.asked_bytes, "asked bytes");
    expect_near(sum.peak_bytes, exact.peak_bytes, "bytes at the peak");
    expect_near(sum.peak_count, exact.peak_count, "blocks at the peak");
    expect_near(sum.live_bytes, exact.live_bytes, "bytes at the end");
    expect_near(sum.live_count, exact.live_count, "blocks at the end");
    expect_near(sum.temporaries, exact.temporaries, "temporaries");
    expect_near(sum.freed_by_others, exact.freed_by_others, "freed by others");
    expect_near(sum.moved_bytes, exact.moved_bytes, "moved bytes");
  }
}

}  // namespace
}  // namespace heaptape::replayer
