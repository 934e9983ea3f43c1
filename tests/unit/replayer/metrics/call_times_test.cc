#include "replayer/metrics/call_times.h"

#include <gtest/gtest.h>

namespace heaptape::replayer {
namespace {

using schema::TimeSample;

class CallTimesOfATape : public testing::Test {
 protected:
  // The times of `count` calls behind `first` others.
  std::vector<uint64_t> times(uint64_t first, size_t count, const std::vector<TimeSample>& samples,
                              std::optional<TimeSample> next = {}) {
    times_.begin(first, count, samples, next);
    std::vector<uint64_t> all;
    for (uint64_t event = first + 1; event <= first + count; ++event) {
      all.push_back(times_.time_of(event));
    }
    return all;
  }

  CallTimes times_;
};

using Times = std::vector<uint64_t>;

TEST_F(CallTimesOfATape, GoFromZeroToTheFirstSample) {
  EXPECT_EQ(times(0, 4, {{4, 400}}), (Times{100, 200, 300, 400}));
}

TEST_F(CallTimesOfATape, LieBetweenSamples) {
  EXPECT_EQ(times(0, 4, {{2, 100}, {4, 300}}), (Times{50, 100, 200, 300}));
}

TEST_F(CallTimesOfATape, GoOnAcrossBatches) {
  EXPECT_EQ(times(0, 2, {}, TimeSample{4, 400}), (Times{100, 200}));
  EXPECT_EQ(times(2, 2, {{4, 400}}), (Times{300, 400}));
}

TEST_F(CallTimesOfATape, StandBehindTheLastSample) {
  EXPECT_EQ(times(0, 3, {{1, 100}}), (Times{100, 100, 100}));
  EXPECT_EQ(times(3, 2, {{5, 300}}), (Times{200, 300}));
}

TEST_F(CallTimesOfATape, LeaveAPauseBetweenTwoCalls) {
  EXPECT_EQ(times(0, 4, {{2, 100}, {2, 900}, {4, 1000}}), (Times{50, 100, 950, 1000}));
}

TEST_F(CallTimesOfATape, NeverFall) {
  EXPECT_EQ(times(0, 4, {{2, 100}, {4, 50}}), (Times{50, 100, 100, 100}));
}

TEST_F(CallTimesOfATape, WaitForSamplesThatAreAhead) {
  EXPECT_EQ(times(0, 1, {{100, 1000}}, TimeSample{200, 1 << 20}), (Times{10}));
  EXPECT_EQ(times(1, 2, {}, TimeSample{200, 1 << 20}), (Times{1000, 1000}));
}

TEST_F(CallTimesOfATape, TakeAnyNumber) {
  EXPECT_EQ(times(0, 2, {{2, UINT64_MAX}}).back(), uint64_t{1} << 62);
}

TEST_F(CallTimesOfATape, AreKnownIfASampleIsBehindACall) {
  times(0, 2, {{0, 7}});
  EXPECT_FALSE(times_.are_known());
  times(2, 2, {}, TimeSample{10, 7});
  EXPECT_TRUE(times_.are_known());
}

}  // namespace
}  // namespace heaptape::replayer
