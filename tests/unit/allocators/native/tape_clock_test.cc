#include "allocators/native/tape_clock.h"

#include <gtest/gtest.h>

namespace heaptape::allocators {
namespace {

using schema::TimeSample;

// "op:time ..." of a batch of `count` ops behind `first` calls.
class TapeClocks : public testing::Test {
 protected:
  std::string begin(uint64_t first, size_t count, const std::vector<TimeSample>& times,
                    std::optional<TimeSample> next = {}) {
    ops_.resize(count);
    clock_.begin({.first_event = first,
                  .ops = ops_,
                  .recorded_addresses = {},
                  .samples = {},
                  .times = times,
                  .next_time = next});
    return part(0, count);
  }
  std::string part(size_t first, size_t count) {
    std::vector<ClockPoint> points(kMaxClockPoints);
    points.resize(clock_.points(first, count, points.data()));
    std::string text;
    for (const ClockPoint& point : points) {
      text += " " + std::to_string(point.op) + ":" + std::to_string(point.time_ns);
    }
    return text;
  }

  TapeClock clock_;
  std::vector<ReplayOp> ops_;
};

TEST_F(TapeClocks, GoesFromZeroToTheFirstSample) {
  EXPECT_EQ(begin(0, 10, {{10, 500}}), " -1:0 9:500");
}

TEST_F(TapeClocks, GivesAnOpTheTimeWhenItHadBeenMade) {
  EXPECT_EQ(begin(0, 10, {{4, 500}, {5, 60000}, {10, 60100}}), " -1:0 3:500 4:60000 9:60100");
}

TEST_F(TapeClocks, TakesFirstAndLastSampleOfAnEvent) {
  EXPECT_EQ(begin(0, 10, {{4, 500}, {4, 700}, {4, 60000}, {10, 60100}}),
            " -1:0 3:500 3:60000 9:60100");
}

TEST_F(TapeClocks, GoesOnFromTheLastSampleOfAnEarlierBatch) {
  begin(0, 10, {{4, 400}}, TimeSample{30, 3000});
  EXPECT_EQ(begin(10, 10, {}, TimeSample{30, 3000}), " -7:400 19:3000");
}

TEST_F(TapeClocks, StandsWhereNoSampleFollows) {
  begin(0, 10, {{4, 400}});
  EXPECT_EQ(begin(10, 10, {{20, 500}}), " -1:400 9:500");
}

TEST_F(TapeClocks, NeverFalls) {
  EXPECT_EQ(begin(0, 10, {{4, 400}, {5, 300}}), " -1:0 3:400 4:400");
}

TEST_F(TapeClocks, GivesAPartOfABatchWhatLiesAroundIt) {
  begin(0, 100, {{11, 1000}, {21, 2000}, {31, 3000}, {41, 4000}, {51, 5000}});
  EXPECT_EQ(part(25, 10), " -5:2000 5:3000 15:4000");
  EXPECT_EQ(part(20, 11), " -10:1000 0:2000 10:3000");
  EXPECT_EQ(part(80, 10), " -30:5000");
}

}  // namespace
}  // namespace heaptape::allocators
