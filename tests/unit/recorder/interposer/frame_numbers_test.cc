// Numbers of frames, against a map.
#include "recorder/interposer/frame_numbers.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "tests/support/tapes.h"

namespace heaptape::recorder {
namespace {

class NumbersOfFrames : public testing::Test {
 protected:
  ~NumbersOfFrames() override { numbers_.clear(); }

  // As the walk of a stack asks for a frame.
  uint32_t number_of(uint32_t caller, uintptr_t return_address) {
    const auto key = std::pair(caller, return_address);
    const uint32_t found = numbers_.find(caller, return_address);
    const auto known = known_.find(key);
    EXPECT_EQ(found, known == known_.end() ? 0 : known->second) << caller << " " << return_address;
    if (found != 0) return found;
    EXPECT_TRUE(numbers_.make_room());
    const uint32_t number = numbers_.add(caller, return_address);
    EXPECT_EQ(number, numbers_.count());
    known_[key] = number;
    return number;
  }

  FrameNumbers numbers_ = {};
  std::map<std::pair<uint32_t, uintptr_t>, uint32_t> known_;
};

TEST_F(NumbersOfFrames, AreGivenInTurn) {
  EXPECT_EQ(number_of(0, 0x1000), 1u);
  EXPECT_EQ(number_of(1, 0x2000), 2u);
  EXPECT_EQ(number_of(0, 0x2000), 3u);
  EXPECT_EQ(number_of(1, 0x2000), 2u);
}

TEST_F(NumbersOfFrames, AreKeptOfOneThatCallsManyThings) {
  for (int round = 0; round < 2; ++round) {
    for (uintptr_t callee = 1; callee <= 5'000; ++callee) number_of(0, callee * 0x1000);
  }
  EXPECT_EQ(numbers_.count(), 5'000u);
}

// Some call one thing, some a few, some hundreds; stacks come again and again.
TEST_F(NumbersOfFrames, AreThoseOfEveryStack) {
  tests::Random random(tests::test_seed());
  for (int stack = 0; stack < 45'000; ++stack) {
    if (stack % 30'000 == 15'000) {  // for another thread
      numbers_.clear();
      known_.clear();
    }
    uint32_t number = 0;
    const uint64_t depth = 1 + random.below(20);
    for (uint64_t i = 0; i < depth; ++i) {
      const uint64_t callees = i % 7 == 3 ? 300 : 1 + i % 6;
      number = number_of(number, 0x400000 + 16 * random.below(callees));
    }
  }
  EXPECT_GT(numbers_.count(), 50'000u);
  EXPECT_EQ(numbers_.count(), known_.size());
}

TEST_F(NumbersOfFrames, LeaveOutThatOfOneThatCannotBeFound) {
  number_of(0, 0x1000);
  ASSERT_TRUE(numbers_.make_room());
  numbers_.skip();
  EXPECT_EQ(number_of(0, 0x2000), 3u);
}

TEST_F(NumbersOfFrames, BeginAnewOnceTheyAreCleared) {
  for (uintptr_t callee = 1; callee <= 1'000; ++callee) number_of(0, callee);
  numbers_.clear();
  known_.clear();
  EXPECT_EQ(numbers_.find(0, 1), 0u);
  EXPECT_EQ(number_of(0, 1), 1u);
  EXPECT_EQ(number_of(1, 1), 2u);
}

TEST_F(NumbersOfFrames, AreNoMoreThanARingHas) {
  uint32_t caller = 0;
  while (numbers_.make_room()) caller = numbers_.add(caller, 0x1000);
  EXPECT_EQ(numbers_.count(), kMostRingFrames - 1);
  EXPECT_EQ(numbers_.find(caller - 1, 0x1000), caller);
}

}  // namespace
}  // namespace heaptape::recorder
