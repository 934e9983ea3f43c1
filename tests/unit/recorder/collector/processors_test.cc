#include "recorder/collector/processors.h"

#include <gtest/gtest.h>

#include <latch>
#include <thread>

namespace heaptape::recorder {
namespace {

constexpr uint64_t kMs = base::kMillisecondNs;

std::vector<uint32_t> processors_of(pthread_t thread) {
  cpu_set_t set;
  EXPECT_EQ(pthread_getaffinity_np(thread, sizeof set, &set), 0);
  std::vector<uint32_t> processors;
  for (uint32_t i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) processors.push_back(i);
  }
  return processors;
}

class OtherProcessorsTest : public testing::Test {
 protected:
  OtherProcessorsTest() { others_.add(thread_.native_handle()); }
  ~OtherProcessorsTest() override {
    over_.count_down();
    thread_.join();
  }
  void SetUp() override {
    if (all_.size() < 2) GTEST_SKIP() << "there is one processor";
  }

  std::vector<uint32_t> here() { return processors_of(thread_.native_handle()); }
  std::vector<uint32_t> all_but_first() const { return {all_.begin() + 1, all_.end()}; }

  const std::vector<uint32_t> all_ = processors_of(pthread_self());
  std::latch over_{1};
  std::thread thread_{[this] { over_.wait(); }};
  OtherProcessors others_;
};

TEST_F(OtherProcessorsTest, AreThoseWithoutAProgram) {
  others_.choose(100 * kMs, false);
  EXPECT_EQ(here(), all_);
  others_.note(all_.front(), 100 * kMs);
  EXPECT_EQ(here(), all_);
  others_.choose(101 * kMs, false);
  EXPECT_EQ(here(), all_but_first());
  EXPECT_EQ(processors_of(pthread_self()), all_);
}

TEST_F(OtherProcessorsTest, AreAllAgainOnceTheProgramIsSlow) {
  others_.note(all_.front(), 100 * kMs);
  others_.choose(100 * kMs, false);
  others_.choose(149 * kMs, false);
  EXPECT_EQ(here(), all_but_first());
  others_.choose(150 * kMs, false);
  EXPECT_EQ(here(), all_);
}

TEST_F(OtherProcessorsTest, AreAllIfProgramsAreOnAll) {
  others_.note(all_.front(), 100 * kMs);
  others_.choose(100 * kMs, false);
  for (const uint32_t processor : all_) others_.note(processor, 110 * kMs);
  others_.choose(110 * kMs, false);
  EXPECT_EQ(here(), all_);
}

TEST_F(OtherProcessorsTest, AreAllWhileTheThreadsAreNeeded) {
  others_.note(all_.front(), 100 * kMs);
  others_.choose(100 * kMs, true);
  EXPECT_EQ(here(), all_);
  others_.choose(101 * kMs, false);
  EXPECT_EQ(here(), all_but_first());
  others_.choose(102 * kMs, true);
  EXPECT_EQ(here(), all_);
}

// For a second, then for two; not for what happened while they might run anywhere.
TEST_F(OtherProcessorsTest, AreAllForAWhileAfterTheThreadsWereLate) {
  const auto choose_at = [this](uint64_t ms) {
    others_.note(all_.front(), ms * kMs);
    others_.choose(ms * kMs, false);
    return here();
  };
  others_.stay(90 * kMs);
  EXPECT_EQ(choose_at(100), all_but_first());
  for (const uint64_t ms : {100, 110}) others_.stay(ms * kMs);
  EXPECT_EQ(choose_at(110), all_);
  EXPECT_EQ(choose_at(1099), all_);
  EXPECT_EQ(choose_at(1100), all_but_first());
  others_.stay(1200 * kMs);
  EXPECT_EQ(choose_at(3199), all_);
  EXPECT_EQ(choose_at(3200), all_but_first());
}

TEST_F(OtherProcessorsTest, AreAllWhileTheMachineIsCrowded) {
  others_.note(all_.front(), 100 * kMs);
  others_.note_crowd(true);
  others_.choose(100 * kMs, false);
  EXPECT_EQ(here(), all_but_first());
  others_.note_crowd(true);
  others_.choose(101 * kMs, false);
  EXPECT_EQ(here(), all_);
  others_.note_crowd(false);
  others_.choose(102 * kMs, false);
  EXPECT_EQ(here(), all_but_first());
}

TEST_F(OtherProcessorsTest, AreNoFewerThanHalf) {
  for (size_t i = 0; i < all_.size() / 2; ++i) others_.note(all_[i], 100 * kMs);
  others_.choose(100 * kMs, false);
  EXPECT_EQ(here().size(), (all_.size() + 1) / 2);
  others_.note(all_.back(), 100 * kMs);
  others_.choose(100 * kMs, false);
  EXPECT_EQ(here(), all_);
}

TEST(CrowdedMachine, HasAsManyThreadsOfOthersAsProcessors) {
  EXPECT_FALSE(is_crowded("0.20 0.18 0.12 5/80 11206\n", 2));
  EXPECT_TRUE(is_crowded("0.20 0.18 0.12 6/80 11206\n", 2));
  EXPECT_FALSE(is_crowded("0.20 0.18 0.12 6/80 11206\n", 3));
  for (const char* const damaged : {"", "0.20 0.18", "0.20 0.18 0.12 x"}) {
    EXPECT_TRUE(is_crowded(damaged, 2)) << damaged;
  }
}

TEST_F(OtherProcessorsTest, AreAllInTheEnd) {
  others_.note(all_.front(), 100 * kMs);
  others_.choose(100 * kMs, false);
  others_.end();
  EXPECT_EQ(here(), all_);
  others_.note(all_.front(), 200 * kMs);
  others_.choose(200 * kMs, false);
  EXPECT_EQ(here(), all_);
}

// A hostile process says what it likes.
TEST_F(OtherProcessorsTest, AreAllIfAProgramIsOnNone) {
  for (const uint32_t processor : {all_.back() + 1, uint32_t{CPU_SETSIZE}, UINT32_MAX}) {
    others_.note(processor, 100 * kMs);
  }
  others_.choose(100 * kMs, false);
  EXPECT_EQ(here(), all_);
}

}  // namespace
}  // namespace heaptape::recorder
