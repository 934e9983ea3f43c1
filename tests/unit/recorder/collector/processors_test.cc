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
  others_.choose(100 * kMs);
  EXPECT_EQ(here(), all_);
  others_.note(all_.front(), 100 * kMs);
  EXPECT_EQ(here(), all_);
  others_.choose(101 * kMs);
  EXPECT_EQ(here(), all_but_first());
  EXPECT_EQ(processors_of(pthread_self()), all_);
}

TEST_F(OtherProcessorsTest, AreAllAgainOnceTheProgramIsSlow) {
  others_.note(all_.front(), 100 * kMs);
  others_.choose(100 * kMs);
  others_.choose(149 * kMs);
  EXPECT_EQ(here(), all_but_first());
  others_.choose(150 * kMs);
  EXPECT_EQ(here(), all_);
}

TEST_F(OtherProcessorsTest, AreAllIfProgramsAreOnAll) {
  others_.note(all_.front(), 100 * kMs);
  others_.choose(100 * kMs);
  for (const uint32_t processor : all_) others_.note(processor, 110 * kMs);
  others_.choose(110 * kMs);
  EXPECT_EQ(here(), all_);
}

TEST_F(OtherProcessorsTest, AreNotChosenAnewAtOnce) {
  others_.note(all_.front(), 100 * kMs);
  others_.choose(100 * kMs);
  for (const uint32_t processor : all_) others_.note(processor, 104 * kMs);
  others_.choose(104 * kMs);
  EXPECT_EQ(here(), all_but_first());
  others_.choose(105 * kMs);
  EXPECT_EQ(here(), all_);
}

TEST_F(OtherProcessorsTest, AreAllInTheEnd) {
  others_.note(all_.front(), 100 * kMs);
  others_.choose(100 * kMs);
  others_.end();
  EXPECT_EQ(here(), all_);
  others_.note(all_.front(), 200 * kMs);
  others_.choose(200 * kMs);
  EXPECT_EQ(here(), all_);
}

// A hostile process says what it likes.
TEST_F(OtherProcessorsTest, AreAllIfAProgramIsOnNone) {
  for (const uint32_t processor : {all_.back() + 1, uint32_t{CPU_SETSIZE}, UINT32_MAX}) {
    others_.note(processor, 100 * kMs);
  }
  others_.choose(100 * kMs);
  EXPECT_EQ(here(), all_);
}

}  // namespace
}  // namespace heaptape::recorder
