#include "replayer/engine/side_by_side.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

namespace heaptape::replayer {
namespace {

TEST(ForEachInThreads, DoesEachOnce) {
  for (const size_t threads : {1u, 2u, 7u, 200u}) {
    std::vector<std::atomic<int>> done(100);
    for_each_in_threads(done.size(), threads, [&done](size_t i) { ++done[i]; });
    for (const auto& times : done) EXPECT_EQ(times, 1) << threads;
  }
}

TEST(ForEachInThreads, DoesNothingWhereThereIsNothing) {
  for_each_in_threads(0, 4, [](size_t) { FAIL(); });
}

// Each waits for the other.
TEST(ForEachInThreads, DoesSomeAtTheSameTime) {
  std::atomic<int> there = 0;
  for_each_in_threads(2, 2, [&there](size_t) {
    ++there;
    while (there < 2) std::this_thread::yield();
  });
  EXPECT_EQ(there, 2);
}

TEST(ForEachInThreads, DoesNoMoreAtATimeThanItMay) {
  std::atomic<int> at_work = 0;
  std::atomic<int> most = 0;
  for_each_in_threads(50, 3, [&](size_t) {
    const int now = ++at_work;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --at_work;
  });
  EXPECT_LE(most, 3);
}

TEST(ForEachInThreads, ThrowsWhatOneOfThemThrew) {
  const auto work = [](size_t i) {
    if (i == 5) throw std::runtime_error("five");
  };
  EXPECT_THROW(for_each_in_threads(10, 3, work), std::runtime_error);
  EXPECT_THROW(for_each_in_threads(10, 1, work), std::runtime_error);
}

}  // namespace
}  // namespace heaptape::replayer
