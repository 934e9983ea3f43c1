// What the growth check makes of known curves.
#include "replayer/metrics/growth.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/seeded_random.h"

namespace heaptape::replayer {
namespace {

using allocators::GrowthLog;

// One operation at each scale from 1 to `most`, of cost_at(scale).
template <typename Cost>
GrowthFit fit_of(uint64_t most, Cost cost_at) {
  GrowthLog log;
  for (uint64_t scale = 1; scale <= most; ++scale) {
    log.add(scale, static_cast<uint64_t>(cost_at(scale)));
  }
  return fit_growth(log.curve("free", "nodes skipped", "list length"));
}

TEST(Growth, FindsALinearWalk) {
  const GrowthFit fit = fit_of(100'000, [](uint64_t n) { return n - 1; });
  EXPECT_TRUE(fit.grows);
  EXPECT_NEAR(fit.exponent, 1.0, 0.01);
  EXPECT_LE(fit.exponent_low, fit.exponent);
  EXPECT_NEAR(fit.exponent_high - fit.exponent_low, 0, 0.02);
}

TEST(Growth, SaysItInOneSentence) {
  EXPECT_EQ(growth_sentence(fit_of(1000, [](uint64_t n) { return n - 1; })),
            "free: cost grows as n^1.0 with the list length: 499,500 nodes skipped over 1,000 "
            "frees; quadratic overall");
}

TEST(Growth, FindsAQuadraticOperation) {
  const GrowthFit fit = fit_of(3000, [](uint64_t n) { return n * n; });
  EXPECT_NEAR(fit.exponent, 2.0, 0.01);
  EXPECT_NE(growth_sentence(fit).find("cubic overall"), std::string::npos) << growth_sentence(fit);
}

TEST(Growth, IsNotFooledByAConstantPart) {
  const GrowthFit fit = fit_of(100'000, [](uint64_t n) { return 200 + n; });
  EXPECT_TRUE(fit.grows);
  EXPECT_NEAR(fit.exponent, 0.99, 0.01);
}

TEST(Growth, HasNothingToSayOfConstantCost) {
  const GrowthFit fit = fit_of(100'000, [](uint64_t) { return 50; });
  EXPECT_TRUE(fit.is_fitted);
  EXPECT_NEAR(fit.exponent, 0, 1e-6);
  EXPECT_FALSE(fit.grows);
  EXPECT_EQ(growth_sentence(fit), "");
}

TEST(Growth, HasNothingToSayOfALogarithm) {
  const GrowthFit fit = fit_of(100'000, [](uint64_t n) { return 10 * std::bit_width(n); });
  EXPECT_NEAR(fit.exponent, 0.1, 0.02);
  EXPECT_FALSE(fit.grows);
}

TEST(Growth, HasNothingToSayOfASquareRoot) {
  const GrowthFit fit = fit_of(1'000'000, [](uint64_t n) { return std::sqrt(n); });
  EXPECT_NEAR(fit.exponent, 0.5, 0.02);
  EXPECT_FALSE(fit.grows);
}

TEST(Growth, HasNothingToSayWhereNoWorkWasDone) {
  EXPECT_FALSE(fit_of(100'000, [](uint64_t) { return 0; }).is_fitted);
  EXPECT_FALSE(fit_growth({}).is_fitted);
}

TEST(Growth, HasNothingToSayOfOneScale) {
  GrowthLog log;
  for (int i = 0; i < 1000; ++i) log.add(99, 98);
  EXPECT_FALSE(fit_growth(log.curve("free", "nodes skipped", "list length")).is_fitted);
}

TEST(Growth, HasNothingToSayOfAFewSteps) {
  EXPECT_FALSE(fit_of(12, [](uint64_t n) { return n; }).grows);
}

// It begins at the twentieth node, so that on short lists it seems to rise steeply.
TEST(Growth, HasNothingToSayOfSearchesThatStayShort) {
  GrowthLog log;
  for (int round = 0; round < 100; ++round) {
    for (uint64_t scale = 20; scale < 140; ++scale) log.add(scale, scale - 19);
  }
  EXPECT_FALSE(fit_growth(log.curve("search", "comparisons", "free-list length")).grows);
}

// A search for each doubling of the list is linear in it, and yet no trouble.
TEST(Growth, HasNothingToSayOfADozenOperations) {
  GrowthLog log;
  for (int i = 1; i < 21; ++i) log.add(uint64_t{1} << i, uint64_t{1} << i);
  EXPECT_FALSE(fit_growth(log.curve("search", "comparisons", "free-list length")).is_fitted);
}

// A table that doubles moves all it has, but that rarely that each insertion pays a constant.
TEST(Growth, SpreadsARareCostOverTheOperationsThatPayForIt) {
  const GrowthFit fit =
      fit_of(1 << 20, [](uint64_t n) { return std::has_single_bit(n) ? 2 * n : 1; });
  EXPECT_FALSE(fit.grows);
}

TEST(Growth, FindsALineInNoise) {
  tests::SeededRandom random;
  const GrowthFit fit = fit_of(50'000, [&](uint64_t n) { return random.below(2 * n); });
  EXPECT_TRUE(fit.grows);
  EXPECT_NEAR(fit.exponent, 1.0, 0.1);
  EXPECT_LT(fit.exponent_low, fit.exponent_high);
}

// A band of `operations` at one scale, as a GrowthLog would have it.
allocators::GrowthPoint band(uint64_t operations, uint64_t scale, uint64_t work) {
  return {.operations = operations, .scale_sum = operations * scale, .work_sum = operations * work};
}

GrowthFit fit_of(const std::vector<allocators::GrowthPoint>& bands) {
  allocators::GrowthCurve curve;
  curve.points = bands;
  return fit_growth(curve);
}

// By hand, in octaves: work is off the line by +1, -1, +1 ... So the squares of what the fit leaves
// add up to 6 - 3 * 3 / 17.5, four degrees of freedom share them, and Student's t is 2.776.
TEST(Growth, HasTheIntervalOfTwoDegreesOfFreedomLessThanBands) {
  std::vector<allocators::GrowthPoint> bands;
  for (uint64_t i = 0; i < 6; ++i) {
    const uint64_t scale = uint64_t{1024} << i;
    bands.push_back(band(1000, scale, i % 2 == 0 ? 2 * scale : scale / 2));
  }
  const GrowthFit fit = fit_of(bands);
  EXPECT_NEAR(fit.exponent, 1 - 3 / 17.5, 1e-6);
  EXPECT_NEAR(fit.exponent_high - fit.exponent, 0.777, 0.777 * 0.02);
  EXPECT_NEAR(fit.exponent - fit.exponent_low, 0.777, 0.777 * 0.02);
}

// Nine bands of 100 operations with work in them, and one without.
GrowthFit fit_with_idle(uint64_t operations) {
  std::vector<allocators::GrowthPoint> bands = {band(operations, 1000, 0)};
  for (uint64_t i = 0; i < 9; ++i) bands.push_back(band(100, 1024 + 256 * i * i, 100));
  return fit_of(bands);
}

TEST(Growth, FitsACurveOfWhichATenthIsIdle) {
  EXPECT_TRUE(fit_with_idle(100).is_fitted);
}

TEST(Growth, HasNothingToSayWhereMoreThanATenthIsIdle) {
  EXPECT_FALSE(fit_with_idle(101).is_fitted);
}

TEST(Growth, NamesTheWorstOfSeveral) {
  const GrowthFit linear = fit_of(1000, [](uint64_t n) { return n; });
  const GrowthFit square = fit_of(1000, [](uint64_t n) { return n * n; });
  const GrowthFit flat = fit_of(1000, [](uint64_t) { return 20; });
  EXPECT_EQ(worst_exponent({linear, square, flat}), square.exponent);
  EXPECT_EQ(worst_exponent({flat}), 0);
}

TEST(Growth, KeepsEachScaleInABandOfItsOwnSize) {
  GrowthLog log;
  for (const uint64_t scale : {uint64_t{0}, uint64_t{7}, uint64_t{1} << 40, UINT64_MAX}) {
    log.add(scale, 1);
  }
  const auto curve = log.curve("free", "steps", "live blocks");
  ASSERT_EQ(curve.points.size(), 4u);
  EXPECT_EQ(curve.points[2].scale_sum, uint64_t{1} << 40);
  EXPECT_EQ(curve.operations, 4u);
  EXPECT_EQ(curve.work_total, 4u);
}

}  // namespace
}  // namespace heaptape::replayer
