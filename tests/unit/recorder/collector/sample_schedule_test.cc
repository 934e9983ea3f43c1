#include "recorder/collector/sample_schedule.h"

#include <gtest/gtest.h>

namespace heaptape::recorder {
namespace {

constexpr uint64_t kOneMs = base::kMillisecondNs;
constexpr uint64_t kNow = 1'000'000 * kOneMs;

// After so many samples that they are as rare as they get. `now_ns` becomes the time of the last.
SampleSchedule settled(uint64_t& now_ns) {
  SampleSchedule schedule;
  schedule.is_due(now_ns, 0);
  for (int i = 0; i < 30; ++i) {
    now_ns += SampleSchedule::kMaxEveryNs;
    schedule.note(now_ns, 0, 1, 0, 0);
  }
  return schedule;
}

TEST(SampleSchedule, BeginsTwoMillisecondsAfterTheProcess) {
  SampleSchedule schedule;
  EXPECT_FALSE(schedule.is_due(kNow, 0));
  EXPECT_FALSE(schedule.is_due(kNow + 2 * kOneMs - 1, 1 << 30));
  EXPECT_TRUE(schedule.is_due(kNow + 2 * kOneMs, 0));
}

TEST(SampleSchedule, BeginsAtOnceWhereThatIsWanted) {
  SampleSchedule schedule;
  schedule.begin_at(kNow);
  EXPECT_TRUE(schedule.is_due(kNow, 0));
  schedule.note(kNow, 0, 1, 0, 0);
  EXPECT_FALSE(schedule.is_due(kNow + 3 * kOneMs - 1, 0));
}

TEST(SampleSchedule, BecomesRarerByHalfEachTime) {
  SampleSchedule schedule;
  schedule.is_due(kNow, 0);
  schedule.note(kNow, 0, 1, 0, 0);
  EXPECT_FALSE(schedule.is_due(kNow + 3 * kOneMs - 1, 0));
  EXPECT_TRUE(schedule.is_due(kNow + 3 * kOneMs, 0));
  schedule.note(kNow, 0, 1, 0, 0);
  EXPECT_FALSE(schedule.is_due(kNow + 9 * kOneMs / 2 - 1, 0));
  EXPECT_TRUE(schedule.is_due(kNow + 9 * kOneMs / 2, 0));
}

TEST(SampleSchedule, IsNeverRarerThanATenthOfASecond) {
  uint64_t now_ns = kNow;
  SampleSchedule schedule = settled(now_ns);
  EXPECT_FALSE(schedule.is_due(now_ns + 100 * kOneMs - 1, 0));
  EXPECT_TRUE(schedule.is_due(now_ns + 100 * kOneMs, 0));
}

TEST(SampleSchedule, ComesEarlyWhileTheProgramGrows) {
  uint64_t now_ns = kNow;
  SampleSchedule schedule = settled(now_ns);
  schedule.note(now_ns, 0, 1, 5 << 20, 1 << 20);
  EXPECT_FALSE(schedule.is_due(now_ns + 2 * kOneMs, (6 << 20) - 1));
  EXPECT_FALSE(schedule.is_due(now_ns + 2 * kOneMs - 1, 6 << 20));
  EXPECT_TRUE(schedule.is_due(now_ns + 2 * kOneMs, 6 << 20));
}

TEST(SampleSchedule, MeasuresMuchByWhatTheProgramHas) {
  uint64_t now_ns = kNow;
  SampleSchedule schedule = settled(now_ns);
  schedule.note(now_ns, 0, 1, 0, 80 << 20);
  EXPECT_FALSE(schedule.is_due(now_ns + 2 * kOneMs, (10 << 20) - 1));
  EXPECT_TRUE(schedule.is_due(now_ns + 2 * kOneMs, 10 << 20));
}

// It frees what it asks for.
TEST(SampleSchedule, WaitsLongerWhereTheProgramAsksAndDoesNotGrow) {
  uint64_t now_ns = kNow;
  SampleSchedule schedule = settled(now_ns);
  schedule.note(now_ns, 0, 1, 0, 16 << 20);
  for (const uint64_t wait_ms : {4, 8, 16, 32, 64, 100, 100}) {
    schedule.note(now_ns, 0, 1, 0, 17 << 20);  // a sixteenth more is no growth
    EXPECT_FALSE(schedule.is_due(now_ns + wait_ms * kOneMs - 1, 1 << 30)) << wait_ms;
    EXPECT_TRUE(schedule.is_due(now_ns + wait_ms * kOneMs, 1 << 30)) << wait_ms;
  }
}

TEST(SampleSchedule, TakesTwoPercentOfOurTimeAtMost) {
  uint64_t now_ns = kNow;
  SampleSchedule schedule = settled(now_ns);
  schedule.note(now_ns, 4 * kOneMs, 3, 0, 0);  // of three processes
  EXPECT_FALSE(schedule.is_due(now_ns + 600 * kOneMs - 1, 1 << 30));
  EXPECT_TRUE(schedule.is_due(now_ns + 600 * kOneMs, 0));
}

}  // namespace
}  // namespace heaptape::recorder
