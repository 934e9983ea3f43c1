// How bytes are chosen, against the exponential distribution. Seeds are fixed: nothing is random.
#include "recorder/interposer/stack_sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace heaptape::recorder {
namespace {

constexpr size_t kDraws = 400'000;

std::vector<uint64_t> draws_of(uint64_t every_bytes, uint64_t seed = 1, size_t count = kDraws) {
  StackSampling sampling;
  sampling.begin(every_bytes, seed);
  std::vector<uint64_t> draws(count);
  for (uint64_t& draw : draws) draw = sampling.draw();
  return draws;
}

double share_above(const std::vector<uint64_t>& draws, uint64_t bytes) {
  const auto above = std::ranges::count_if(draws, [bytes](uint64_t draw) { return draw > bytes; });
  return static_cast<double>(above) / static_cast<double>(draws.size());
}

class SampledBytes : public testing::TestWithParam<uint64_t> {};

TEST_P(SampledBytes, AreApartAsInAPoissonProcess) {
  const auto every = static_cast<double>(GetParam());
  const std::vector<uint64_t> draws = draws_of(GetParam());
  for (const double means : {0.001, 0.1, 0.5, 1.0, 2.0, 5.0, 8.0}) {
    const auto bytes = static_cast<uint64_t>(means * every);
    const double expected = std::exp(-static_cast<double>(bytes) / every);
    const double deviation = std::sqrt(expected * (1 - expected) / kDraws);
    EXPECT_NEAR(share_above(draws, bytes), expected, 4 * deviation + 1e-12) << means;
  }
}

INSTANTIATE_TEST_SUITE_P(Rates, SampledBytes,
                         testing::Values(1, 2, 100, 4096, 524'288, uint64_t{1} << 40));

TEST(SampledBytes, AreAllOfThemWhereNoneIsLeftOut) {
  for (const uint64_t draw : draws_of(0, 1, 100)) EXPECT_EQ(draw, 0u);
}

TEST(SampledBytes, AreOthersInAnotherProcess) {
  const std::vector<uint64_t> one = draws_of(4096, 1000);
  const std::vector<uint64_t> other = draws_of(4096, 1001);
  size_t same = 0;
  for (size_t i = 0; i < kDraws; ++i) same += one[i] == other[i];
  EXPECT_LT(same, kDraws / 1000);
}

// A draw tells nothing of the next.
TEST(SampledBytes, DoNotDependOnTheLastOne) {
  const std::vector<uint64_t> draws = draws_of(100'000);
  double sum = 0;
  for (size_t i = 1; i < kDraws; ++i) {
    sum += (static_cast<double>(draws[i]) / 100'000 - 1) *
           (static_cast<double>(draws[i - 1]) / 100'000 - 1);
  }
  EXPECT_NEAR(sum / kDraws, 0, 4 / std::sqrt(kDraws));
}

}  // namespace
}  // namespace heaptape::recorder
