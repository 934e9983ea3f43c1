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
