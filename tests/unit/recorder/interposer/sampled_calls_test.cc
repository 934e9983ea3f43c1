// Which calls have their stacks recorded, by the bytes that they ask for.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <thread>

#include "recorder/interposer/producer.h"
#include "tests/support/live_session.h"

namespace heaptape::recorder {
namespace {

SessionOptions sampled(uint64_t every_bytes) {
  return {Follow::kAll, OnFull::kDrop, 4, Unwinding::kFramePointers, every_bytes};
}

// As of a hook that the outermost function called.
bool is_chosen(uint64_t size) {
  alignas(16) const uint64_t frame[] = {0, 0x100001};
  return stack_of_hook(size, reinterpret_cast<uintptr_t>(frame)) != 0;
}

// A letter for each of so many calls.
std::string chosen_of(size_t calls, uint64_t size) {
  std::string letters;
  for (size_t i = 0; i < calls; ++i) letters += is_chosen(size) ? 'x' : '.';
  return letters;
}

TEST(SampledCalls, AreSomeOfThoseForNoBytes) {
  const tests::LiveSession session(sampled(1));
  std::thread([] {
    const std::string chosen = chosen_of(2'000, 0);
    EXPECT_NEAR(static_cast<double>(std::ranges::count(chosen, 'x')), 2'000 * (1 - std::exp(-1.0)),
                6 * std::sqrt(2'000 * 0.63 * 0.37));
  }).join();
}

TEST(SampledCalls, AreAllOfChosenSizes) {
  SessionOptions options = sampled(0);
  options.stack_sizes = {{48, 48}, {100, 200}};
  const tests::LiveSession session(options);
  std::thread([] {
    EXPECT_EQ(chosen_of(5, 48), "xxxxx");
    EXPECT_EQ(chosen_of(5, 100), "xxxxx");
    EXPECT_EQ(chosen_of(5, 200), "xxxxx");
    for (const uint64_t size : {uint64_t{0}, uint64_t{47}, uint64_t{49}, uint64_t{99},
                                uint64_t{201}, uint64_t{UINT64_MAX}}) {
      EXPECT_EQ(chosen_of(5, size), ".....") << size;
    }
  }).join();
}

TEST(SampledCalls, ForNoBytesCountAsOnesForAByteBySizeToo) {
  SessionOptions options = sampled(0);
  options.stack_sizes = {{1, 1}};
  const tests::LiveSession session(options);
  std::thread([] { EXPECT_EQ(chosen_of(3, 0), "xxx"); }).join();
}

// The bytes of chosen sizes do not count towards the others.
TEST(SampledCalls, AreSomeOfThoseThatAreNotChosenBySize) {
  SessionOptions options = sampled(1000);
  options.stack_sizes = {{48, 48}};
  const tests::LiveSession session(options);
  std::thread([] {
    constexpr size_t kCalls = 4'000;
    size_t chosen = 0;
    for (size_t i = 0; i < kCalls; ++i) {
      EXPECT_TRUE(is_chosen(48));
      chosen += is_chosen(100) ? 1 : 0;
    }
    const double chance = 1 - std::exp(-0.1);
    EXPECT_NEAR(static_cast<double>(chosen), kCalls * chance,
                6 * std::sqrt(kCalls * chance * (1 - chance)));
  }).join();
}

// Else programs of many threads would seem to ask for most in the first calls of each.
TEST(SampledCalls, AreNotTheFirstOnesOfThreads) {
  const tests::LiveSession session(sampled(uint64_t{1} << 40));
  std::atomic<int> chosen = 0;
  for (int i = 0; i < 50; ++i) {
    std::thread([&chosen] { chosen += is_chosen(64) ? 1 : 0; }).join();
  }
  EXPECT_EQ(chosen, 0);
}

// Of 64 bytes in 4 KiB, in a forked process.
std::string chosen_in_a_child() {
  constexpr size_t kCalls = 1'000;
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::string chosen = chosen_of(kCalls, 64);
    _exit(write(ends[1], chosen.data(), kCalls) == kCalls ? 0 : 1);
  }
  close(ends[1]);
  std::string chosen(kCalls, 0);
  EXPECT_EQ(read(ends[0], chosen.data(), kCalls), static_cast<ssize_t>(kCalls));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return chosen;
}

// Else a server of many equal children would have the errors of one estimate in all.
TEST(SampledCalls, AreOthersInEachForkedProcess) {
  const tests::LiveSession session(sampled(4096));
  std::thread([] {
    is_chosen(64);
    const std::string one = chosen_in_a_child();
    const std::string other = chosen_in_a_child();
    EXPECT_NE(one.find('x'), std::string::npos);
    EXPECT_NE(one, other);
  }).join();
}

}  // namespace
}  // namespace heaptape::recorder
