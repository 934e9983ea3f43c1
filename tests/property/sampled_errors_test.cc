// Whether estimates from sampled stacks are off by as much as their standard errors say: a tape
// whose stacks are all known is thinned by the recorder's own sampler, over and over again.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "recorder/interposer/stack_sampling.h"
#include "replayer/engine/slot_resolver.h"
#include "replayer/sites/site_table.h"
#include "replayer/sites/stack_profile.h"
#include "tests/support/tapes.h"

namespace heaptape::replayer {
namespace {

constexpr uint64_t kEvery = 2048;
constexpr int kRounds = 500;
constexpr StackValue kValues[] = {StackValue::kPeak, StackValue::kEnd, StackValue::kBytes,
                                  StackValue::kCalls};

// How often an estimate was within one and two standard errors of the truth.
struct Coverage {
  int within_one = 0;
  int within_two = 0;

  void add(double estimate, double error, double exact) {
    const double off = std::abs(estimate - exact);
    within_one += off <= error ? 1 : 0;
    within_two += off <= 2 * error ? 1 : 0;
  }
};

using TotalsByStack = std::map<schema::FrameNumber, StackTotals>;

class SampledErrors : public testing::Test {
 protected:
  // Blocks of 48 bytes (stack 1), of 40 to 2,039 (2), of up to 40 KB, which are resized (3), and of
  // all these sizes (4). Two of three are freed again, most of them after the peak.
  void SetUp() override {
    constexpr size_t kBlocks = 12'000;
    tests::Random random(1);
    std::vector<uint64_t> live;
    for (uint64_t i = 1; i <= kBlocks; ++i) {
      const auto stack = static_cast<schema::FrameNumber>(1 + random.below(4));
      const uint64_t kind = stack == 4 ? 1 + random.below(3) : stack;
      const uint64_t size = kind == 1   ? 48
                            : kind == 2 ? 40 + random.below(2'000)
                                        : 400 + random.below(40'000);
      add(tests::malloc_event(size, i << 20), stack);
      live.push_back(i << 20);
      if (kind == 3 && random.chance(2)) {
        add(tests::realloc_event(i << 20, 400 + random.below(80'000), i << 20), 3);
      }
      if (random.chance(i < kBlocks / 2 ? 8 : 2)) release(live, random.below(live.size()));
    }
    while (live.size() > kBlocks / 3) release(live, random.below(live.size()));
    SlotResolver resolver(all_.events.size());
    ASSERT_TRUE(resolver.resolve(all_.events, 0, resolved_).ok());
    exact_ = totals_of(all_.stacks, SampleWeight());
  }
  void add(const schema::Event& event, schema::FrameNumber stack) {
    all_.events.push_back(event);
    all_.stacks.push_back(stack);
  }
  void release(std::vector<uint64_t>& live, uint64_t index) {
    add(tests::free_event(live[index]), 0);
    live[index] = live.back();
    live.pop_back();
  }
  TotalsByStack totals_of(const std::vector<schema::FrameNumber>& stacks, SampleWeight weight) {
    schema::EventBatch batch = all_;
    batch.stacks = stacks;
    StackProfile profile(5, {}, std::move(weight));
    profile.add(batch, 0, resolved_.ops);
    TotalsByStack totals;
    profile.for_each([&totals](schema::FrameNumber stack, const StackTotals& of_stack) {
      totals[stack] = of_stack;
      totals[0] += of_stack;  // over all
    });
    return totals;
  }
  // The stacks that a recorder with this seed keeps, as stack_of_hook() does.
  std::vector<schema::FrameNumber> thinned(uint64_t seed) const {
    recorder::StackSampling sampling;
    sampling.begin(kEvery, seed);
    uint64_t left = sampling.draw();
    std::vector<schema::FrameNumber> stacks = all_.stacks;
    for (size_t i = 0; i < stacks.size(); ++i) {
      if (stacks[i] == 0) continue;
      if (all_.events[i].size < left) {
        left -= all_.events[i].size;
        stacks[i] = 0;
      } else {
        left = sampling.draw();
      }
    }
    return stacks;
  }

  schema::EventBatch all_;
  ResolvedBatch resolved_;
  TotalsByStack exact_;
};

// Normally distributed errors would be within one standard error in 68.3 % of the rounds, and
// within two in 95.4 %.
TEST_F(SampledErrors, CoverTheTruthAsOftenAsTheySay) {
  std::map<std::pair<schema::FrameNumber, StackValue>, Coverage> coverage;
  for (uint64_t seed = 1; seed <= kRounds; ++seed) {
    TotalsByStack estimates = totals_of(thinned(seed), SampleWeight(kEvery));
    for (const auto& [stack, exact] : exact_) {
      for (const StackValue value : kValues) {
        coverage[{stack, value}].add(static_cast<double>(value_of(estimates[stack], value)),
                                     static_cast<double>(standard_error(estimates[stack], value)),
                                     static_cast<double>(value_of(exact, value)));
      }
    }
  }
  ASSERT_EQ(coverage.size(), 5 * std::size(kValues));
  for (const auto& [of, count] : coverage) {
    const std::string what = "stack " + std::to_string(of.first) + ", value " +
                             std::to_string(static_cast<int>(of.second));
    EXPECT_NEAR(count.within_one, 0.683 * kRounds, 0.06 * kRounds) << what;
    EXPECT_NEAR(count.within_two, 0.954 * kRounds, 0.03 * kRounds) << what;
  }
}

TEST_F(SampledErrors, AreZeroWhereAllStacksAreKnown) {
  for (const auto& [stack, exact] : exact_) {
    for (const StackValue value : kValues) EXPECT_EQ(standard_error(exact, value), 0u) << stack;
  }
}

// Calls for a complete size add nothing to the error.
TEST_F(SampledErrors, AreZeroForCompleteSizes) {
  std::vector<schema::FrameNumber> stacks = thinned(1);
  for (size_t i = 0; i < stacks.size(); ++i) {
    if (all_.events[i].size == 48) stacks[i] = all_.stacks[i];
  }
  const schema::StackRecording recording{schema::StackMode::kUnwindTables, 64, kEvery, {{48, 48}}};
  const TotalsByStack estimates = totals_of(stacks, SampleWeight(recording));
  EXPECT_EQ(standard_error(estimates.at(1), StackValue::kPeak), 0u);
  EXPECT_EQ(estimates.at(1).peak_bytes, exact_.at(1).peak_bytes);
  EXPECT_GT(standard_error(estimates.at(2), StackValue::kPeak), 0u);
}

}  // namespace
}  // namespace heaptape::replayer
