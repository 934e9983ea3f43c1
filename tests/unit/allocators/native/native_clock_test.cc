// What time a real allocator sees in a replay, and what it makes of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "allocators/native/native_backend.h"
#include "tests/support/programs.h"

namespace heaptape::allocators {
namespace {

using schema::TimeSample;

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kMinuteNs = 60'000 * kMs;

class NativeClock : public testing::Test {
 protected:
  void start(const std::string& library, Clock clock, std::vector<std::string> environment = {}) {
    NativeOptions options;
    options.name = "test";
    options.library = library;
    options.environment = std::move(environment);
    options.clock = clock;
    options.threads = threads_;
    options.patience_ms = 30'000;  // of a machine that is busy
    backend_ = std::make_unique<NativeBackend>(options);
    const auto started = backend_->start();
    ASSERT_TRUE(started.ok()) << started.error().message;
    events_ = 0;
  }
  void start_telling(const std::string& which, Clock clock = Clock::kTape) {
    start(tests::target_path("libreplay_clock_malloc.so"), clock, {"REPLAY_CLOCK=" + which});
  }
  BatchResult run(const std::vector<ReplayOp>& ops, const std::vector<TimeSample>& times,
                  std::optional<TimeSample> next = {}) {
    const std::vector<uint64_t> recorded(ops.size());
    BatchResult result;
    EXPECT_TRUE(backend_
                    ->submit({.first_event = events_,
                              .slot_limit = static_cast<uint32_t>(ops.size()),
                              .ops = ops,
                              .recorded_addresses = recorded,
                              .samples = {},
                              .times = times,
                              .next_time = next})
                    .ok());
    EXPECT_TRUE(backend_->collect(result).ok());
    events_ += ops.size();
    return result;
  }
  // The milliseconds that a telling library saw at each of `count` ops.
  std::vector<uint64_t> told(size_t count, const std::vector<TimeSample>& times,
                             std::optional<TimeSample> next = {}) {
    std::vector<uint64_t> seen;
    std::vector<ReplayOp> ops(count, {ReplayKind::kMalloc, 0, 0, 0, 16});
    for (const Placement& placement : run(ops, times, next).placements) {
      seen.push_back(placement.usable_bytes);
    }
    return seen;
  }
  // Resident bytes after a heap of 32 MB was freed, 5,000 calls in a second, `pause_ns`, and 5,000
  // calls more. (jemalloc looks at what is free about every 1,000 calls, and times it from then.)
  uint64_t resident_after(uint64_t pause_ns) {
    std::vector<ReplayOp> ops;
    for (uint32_t slot = 0; slot < 500; ++slot)
      ops.push_back({ReplayKind::kMalloc, 0, 0, slot, 60000});
    for (uint32_t slot = 0; slot < 500; ++slot) ops.push_back({ReplayKind::kFree, 0, 0, slot, 0});
    std::vector<TimeSample> times = {
        {1000, kMs}, {6000, 1000 * kMs}, {6001, 1000 * kMs + pause_ns}};
    for (uint32_t i = 0; i < 10000; ++i) {
      ops.push_back({i % 2 == 0 ? ReplayKind::kMalloc : ReplayKind::kFree, 0, 0, 0, 100000});
    }
    std::vector<AddressRange> regions;
    for (const RegionEvent& region : run(ops, times).regions) regions.push_back(region.range);
    const auto residency = backend_->residency(regions);
    EXPECT_TRUE(residency.ok());
    return residency.ok() ? residency->resident_bytes : 0;
  }

  Threads threads_ = Threads::kMerged;
  std::unique_ptr<NativeBackend> backend_;
  uint64_t events_ = 0;
};

TEST_F(NativeClock, LetsAPausePassBetweenTheOpsAroundIt) {
  start_telling("monotonic");
  EXPECT_EQ(told(4, {{2, 5 * kMs}, {2, kMinuteNs}, {4, kMinuteNs + 2 * kMs}}),
            (std::vector<uint64_t>{2, 5, 60001, 60002}));
}

TEST_F(NativeClock, IsInterpolatedBetweenSamplesOfDifferentBatches) {
  start_telling("monotonic");
  const TimeSample later = {12, 1200 * kMs};
  EXPECT_EQ(told(4, {}, later), (std::vector<uint64_t>{100, 200, 300, 400}));
  EXPECT_EQ(told(4, {}, later), (std::vector<uint64_t>{500, 600, 700, 800}));
}

TEST_F(NativeClock, StandsWhereTheTapeHasNoTimes) {
  start_telling("monotonic");
  EXPECT_EQ(told(3, {}), (std::vector<uint64_t>{0, 0, 0}));
}

TEST_F(NativeClock, IsReadByEveryFunction) {
  for (const char* which :
       {"monotonic", "timespec_get", "time", "of-day", "system-call", "time-call", "of-day-call"}) {
    start_telling(which);
    EXPECT_EQ(told(2, {{1, kMinuteNs}, {2, 2 * kMinuteNs}}), (std::vector<uint64_t>{60000, 120000}))
        << which;
  }
}

TEST_F(NativeClock, StandsForEveryClockOfTheSystem) {
  for (const clockid_t clock :
       {CLOCK_REALTIME, CLOCK_REALTIME_COARSE, CLOCK_REALTIME_ALARM, CLOCK_TAI, CLOCK_MONOTONIC,
        CLOCK_MONOTONIC_COARSE, CLOCK_MONOTONIC_RAW, CLOCK_BOOTTIME, CLOCK_BOOTTIME_ALARM}) {
    start_telling("number-" + std::to_string(clock));
    EXPECT_EQ(told(1, {{1, kMinuteNs}}), std::vector<uint64_t>{60000}) << clock;
  }
}

TEST_F(NativeClock, HasMicrosecondsWhereADayIsAskedFor) {
  for (const char* which : {"of-day", "of-day-call"}) {
    start_telling(which);
    EXPECT_EQ(told(1, {{1, 1500 * kMs}}), std::vector<uint64_t>{1500}) << which;
  }
}

TEST_F(NativeClock, IsThatOfTheLastCallWhenMemoryIsGivenBack) {
  start_telling("monotonic");
  run({{ReplayKind::kMalloc, 0, 0, 0, 16}, {ReplayKind::kFree, 0, 0, 0, 0}},
      {{1, kMinuteNs}, {2, 2 * kMinuteNs}});
  EXPECT_TRUE(backend_->give_back_memory().ok());
  EXPECT_EQ(told(1, {{3, 3 * kMinuteNs}}), std::vector<uint64_t>{60000});
}

TEST_F(NativeClock, LeavesNoVdsoToReadPastIt) {
  start_telling("vdso");
  EXPECT_EQ(told(1, {}), std::vector<uint64_t>{0});
}

// Nobody but the sleeper could make it pass.
TEST_F(NativeClock, PassesForAnAllocatorThatSleepsInACall) {
  for (const Threads threads : {Threads::kMerged, Threads::kOrdered, Threads::kLockStep}) {
    threads_ = threads;
    start(tests::target_path("libreplay_clock_malloc.so"), Clock::kTape,
          {"REPLAY_CLOCK=monotonic", "REPLAY_NAP=1"});
    const std::vector<ReplayOp> ops(3, {ReplayKind::kMalloc, 0, 1, 0, 16});
    const auto placements = run(ops, {}).placements;
    ASSERT_EQ(placements.size(), 3u) << static_cast<int>(threads);
    EXPECT_EQ(placements[2].usable_bytes, 3u) << static_cast<int>(threads);
  }
}

// Also when it has slept more often than there are places for sleepers. A thread that does not get
// to run before it sleeps misses any number of seconds, so one batch in which it wakes is enough.
TEST_F(NativeClock, WakesABackgroundThreadHoweverOftenItSleeps) {
  start(tests::target_path("libreplay_sleeping_malloc.so"), Clock::kTape);
  constexpr uint64_t kPlaces = 64;
  constexpr uint64_t kSeconds = 100;  // of a batch, with a call in each
  constexpr int kMostBatches = 60;
  told(1, {}, TimeSample{2, 1000 * kMs});  // ends when the thread sleeps
  uint64_t woken = 0;
  uint64_t most = 0;  // in a batch, after so many sleeps
  for (int batch = 0; batch < kMostBatches && most <= kSeconds / 4; ++batch) {
    std::vector<TimeSample> times;
    for (uint64_t i = 0; i < kSeconds; ++i) {
      const uint64_t second = static_cast<uint64_t>(batch) * kSeconds + i + 1;
      times.push_back({second + 1, second * 1000 * kMs});
    }
    const uint64_t before = std::exchange(woken, told(kSeconds, times).back());
    ASSERT_LE(woken, events_ - 1) << "once a second";
    if (before > kPlaces) most = std::max(most, woken - before);
  }
  EXPECT_GT(most, kSeconds / 4) << "of " << woken << " sleeps";
}

TEST_F(NativeClock, OfTheSystemTakesNoNoticeOfTheTape) {
  start_telling("monotonic", Clock::kReal);
  EXPECT_LT(told(1, {{1, 1000 * kMinuteNs}})[0], 1000 * 60000u);
}

TEST_F(NativeClock, OfAnIdleMinuteMakesJemallocPurge) {
  start("libjemalloc.so.2", Clock::kTape);
  EXPECT_GT(resident_after(0), 25'000'000u);
  start("libjemalloc.so.2", Clock::kTape);
  EXPECT_LT(resident_after(kMinuteNs), 5'000'000u);
}

TEST_F(NativeClock, IsSleptByBackgroundThreadsOfJemallocWithoutHarm) {
  start("libjemalloc.so.2", Clock::kTape, {"MALLOC_CONF=background_thread:true"});
  EXPECT_LT(resident_after(kMinuteNs), 40'000'000u);
}

}  // namespace
}  // namespace heaptape::allocators
