// heaptape record --stacks dwarf, on stacks of all kinds: the program says what libgcc's unwinder
// makes of them (targets/unwinding.cc).
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "schema/tape/stack_end.h"
#include "schema/tape/tape_reader.h"
#include "tests/support/programs.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

using Addresses = std::vector<uint64_t>;
// By the bytes that were asked for, in order.
using StacksBySize = std::map<uint64_t, std::vector<Addresses>>;

class Unwinding : public testing::Test {
 protected:
  void record(const std::vector<std::string>& shape, const std::string& stacks = "dwarf,depth=256",
              const std::vector<std::string>& environment = {}) {
    const std::string path = dir_.file("a.tape");
    std::vector<std::string> words = {
        "heaptape", "record", "--stacks", stacks,
        "-o",       path,     "--",       tests::target_path("unwinding")};
    words.insert(words.end(), shape.begin(), shape.end());
    const auto ended = tests::run({.words = words, .environment = environment});
    ASSERT_EQ(ended.status, 0) << ended.describe();
    read_expected(ended.out);
    read_tape(path);
  }
  void read_expected(const std::string& out) {
    std::istringstream lines(out);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      uint64_t size = 0;
      words >> std::dec >> size >> std::hex;
      Addresses addresses;
      for (uint64_t address = 0; words >> address;) addresses.push_back(address);
      expected_[size].push_back(std::move(addresses));
    }
  }
  void read_tape(const std::string& path) {
    auto tape = schema::TapeReader::open(path);
    ASSERT_TRUE(tape.ok()) << tape.error().message;
    const auto stacks = tape->read_stacks();
    ASSERT_TRUE(stacks.ok()) << stacks.error().message;
    schema::EventBatch batch;
    do {
      ASSERT_TRUE(tape->read(batch, 1000).ok());
      for (size_t i = 0; i < batch.stacks.size(); ++i) {
        recorded_[batch.events[i].size].push_back(addresses(*stacks, batch.stacks[i]));
      }
    } while (!batch.events.empty());
  }
  static Addresses addresses(const schema::Stacks& stacks, schema::FrameNumber number) {
    Addresses addresses;
    for (const schema::Frame* frame = stacks.find(number); frame != nullptr;
         frame = stacks.find(frame->caller)) {
      addresses.push_back(frame->return_address);
    }
    return addresses;
  }
  // Without the function that asked, which both have at another place. What a signal interrupted is
  // recorded as if it had been called one byte before.
  static bool is_same(const Addresses& recorded, const Addresses& expected) {
    if (recorded.size() != expected.size() + 1) return false;
    for (size_t i = 0; i < expected.size(); ++i) {
      if (recorded[i + 1] != expected[i] && recorded[i + 1] != expected[i] + 1) return false;
    }
    return true;
  }
  // How many frames are recorded so.
  static int interrupted(const Addresses& recorded, const Addresses& expected) {
    int count = 0;
    for (size_t i = 0; i < expected.size(); ++i) count += recorded[i + 1] != expected[i] ? 1 : 0;
    return count;
  }
  static std::string text(const Addresses& addresses) {
    std::ostringstream text;
    for (const uint64_t address : addresses) text << std::hex << address << " ";
    return text.str();
  }
  void expect_same() const {
    EXPECT_FALSE(expected_.empty());
    for (const auto& [size, stacks] : expected_) {
      const auto found = recorded_.find(size);
      ASSERT_NE(found, recorded_.end()) << size;
      ASSERT_EQ(found->second.size(), stacks.size()) << size;
      for (size_t i = 0; i < stacks.size(); ++i) {
        ASSERT_TRUE(is_same(found->second[i], stacks[i]))
            << size << " #" << i << "\nrecorded " << text(found->second[i]) << "\nexpected   "
            << text(stacks[i]);
      }
    }
  }

  tests::TempDir dir_;
  StacksBySize expected_;
  StacksBySize recorded_;
};

TEST_F(Unwinding, KnowsFramesOfAllSizes) {
  record({"plain"});
  expect_same();
}

TEST_F(Unwinding, KnowsWhatIsTheSameAsBefore) {
  for (const char* seed : {"1", "2", "3"}) {
    SCOPED_TRACE(seed);
    expected_.clear();
    recorded_.clear();
    record({"random", seed});
    expect_same();
    EXPECT_GE(expected_.size(), 4000u);
  }
}

// What is cut off may be what the next stack shares with it.
TEST_F(Unwinding, KnowsWhatIsTheSameWithinItsLimit) {
  record({"random", "4"}, "dwarf,depth=12");
  for (auto& [size, stacks] : expected_) {
    Addresses& addresses = stacks[0];
    if (addresses.size() <= 11) continue;
    addresses.resize(11);
    addresses.push_back(static_cast<uint64_t>(schema::StackEnd::kDepth));
  }
  expect_same();
}

TEST_F(Unwinding, KnowsWhatASignalInterrupted) {
  record({"signals"});
  expect_same();
  if (HasFatalFailure()) return;
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(interrupted(recorded_[2000][i], expected_[2000][i]), 1);
  EXPECT_EQ(interrupted(recorded_[2100][0], expected_[2100][0]), 0);
}

TEST_F(Unwinding, KnowsWhatATimerInterrupted) {
  record({"interrupts"});
  expect_same();
}

TEST_F(Unwinding, KnowsWhatAnExceptionPasses) {
  record({"exceptions"});
  expect_same();
}

TEST_F(Unwinding, KnowsWhereAJumpLeads) {
  record({"jumps"});
  expect_same();
}

// glibc does not say how the function is unwound to which the first of a coroutine returns.
TEST_F(Unwinding, KnowsStacksOfCoroutines) {
  record({"coroutines"});
  for (uint64_t size = 5000; size < 5005; ++size) {
    ASSERT_EQ(recorded_[size].size(), 1u) << size;
    Addresses& addresses = recorded_[size][0];
    ASSERT_FALSE(addresses.empty());
    EXPECT_EQ(addresses.back(), static_cast<uint64_t>(schema::StackEnd::kNoRule));
    addresses.pop_back();
  }
  expect_same();
}

TEST_F(Unwinding, KnowsStacksOfThreads) {
  record({"threads"});
  expect_same();
}

TEST_F(Unwinding, KnowsFramesThatWereWrittenByHand) {
  record({"assembly"});
  expect_same();
}

TEST_F(Unwinding, CutsWhatIsDeeperThanItsLimit) {
  record({"deep"}, "dwarf,depth=50");
  ASSERT_EQ(recorded_[9000].size(), 1u);
  const Addresses& deep = recorded_[9000][0];
  ASSERT_EQ(deep.size(), 51u);
  EXPECT_EQ(deep.back(), static_cast<uint64_t>(schema::StackEnd::kDepth));
  EXPECT_TRUE(is_same(recorded_[9001][0], expected_[9001][0]));
}

TEST_F(Unwinding, ReadsNothingBeyondTheStack) {
  record({"nowhere"});
  for (const uint64_t size : {7100, 7101}) {
    ASSERT_EQ(recorded_[size].size(), 1u);
    EXPECT_LT(recorded_[size][0].back(), schema::kStackEnds);
  }
}

TEST_F(Unwinding, WaitsForNoLockOfTheLoader) {
  record({"loader_lock"});
  ASSERT_EQ(recorded_[7200].size(), 1u);
  EXPECT_GE(recorded_[7200][0].back(), schema::kStackEnds);
}

TEST_F(Unwinding, WaitsForNoLockOfTheAllocator) {
  if (tests::kSanitized) GTEST_SKIP() << "LD_PRELOAD does not work with a sanitized heaptape";
  record({"malloc_lock"}, "dwarf", {"LD_PRELOAD=" + tests::target_path("locking_malloc.so")});
  ASSERT_EQ(recorded_[7300].size(), 1u);
  EXPECT_GE(recorded_[7300][0].back(), schema::kStackEnds);
}

// The collector sees the library a moment after it came.
TEST_F(Unwinding, LearnsOfLibrariesThatComeLate) {
  record({"libraries", tests::target_path("call_back.so")});
  const std::vector<Addresses>& stacks = recorded_[8000];
  ASSERT_EQ(stacks.size(), 200u);
  EXPECT_TRUE(is_same(stacks[99], expected_[8000][99])) << text(stacks[99]);
  EXPECT_TRUE(is_same(stacks[199], expected_[8000][199])) << text(stacks[199]);
}

}  // namespace
}  // namespace heaptape
