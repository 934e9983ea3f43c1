#include "replayer/engine/side_by_side.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/command.h"
#include "tests/support/limit.h"
#include "tests/support/programs.h"
#include "tests/support/replays.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

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
  std::atomic<int> met = 0;
  for_each_in_threads(2, 2, [&](size_t) {
    ++there;
    met += tests::wait_until([&there] { return there == 2; });
  });
  EXPECT_EQ(met, 2);
}

TEST(ForEachInThreads, DoesTheFirstInTheThreadOfTheCaller) {
  for (int repeat = 0; repeat < 100; ++repeat) {
    std::thread::id first;
    for_each_in_threads(4, 4, [&first](size_t i) {
      if (i == 0) first = std::this_thread::get_id();
    });
    ASSERT_EQ(first, std::this_thread::get_id());
  }
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

TEST(ForEachInThreads, WaitsForTheOthersWhenOneThrows) {
  std::atomic<int> under_way = 0;
  const auto work = [&under_way](size_t i) {
    if (i == 0) throw std::runtime_error("zero");
    ++under_way;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    --under_way;
  };
  EXPECT_THROW(for_each_in_threads(3, 3, work), std::runtime_error);
  EXPECT_EQ(under_way, 0);
}

TEST(ForEachInThreads, DoesAllInOneThreadWhereAddressSpaceIsShort) {
  if (tests::kSanitized) GTEST_SKIP() << "a sanitizer needs more address space than that";
  const tests::Limit limit(RLIMIT_AS, rlim_t{3} << 30);
  std::vector<std::thread::id> ids(10);
  for_each_in_threads(ids.size(), 4, [&ids](size_t i) { ids[i] = std::this_thread::get_id(); });
  EXPECT_EQ(ids, std::vector(10, std::this_thread::get_id()));
}

// Where nobody has read it before.
TEST(SideBySide, EndsAtTheDamageOfATape) {
  const tests::TempDir dir;
  const std::string path = dir.file("a.tape");
  std::vector<schema::Event> events;
  for (uint64_t i = 1; i <= 200'000; ++i) events.push_back(tests::malloc_event(8, 64 * i));
  tests::write_tape(path, events);
  std::string bytes = tests::read_bytes(path);
  bytes[bytes.size() / 2] ^= 1;
  tests::write_bytes(path, bytes);
  auto tape = schema::TapeReader::open(path);
  ASSERT_TRUE(tape.ok());
  auto options = tests::replay_options({"model:bump", "model:first-fit"});
  options.jobs = 2;
  const auto runs = replay(*tape, options, {});
  ASSERT_FALSE(runs.ok());
  EXPECT_EQ(runs.error().code, base::ErrorCode::kDamaged);
}

}  // namespace
}  // namespace heaptape::replayer
