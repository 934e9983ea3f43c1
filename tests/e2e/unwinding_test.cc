// heaptape record --stacks dwarf, on stacks of all kinds: the program says what libgcc's unwinder
// makes of them (targets/unwinding.cc), or what they are (targets/made_code.cc).
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "schema/tape/stack_end.h"
#include "tests/e2e/recorded_stacks.h"
#include "tests/support/programs.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

using tests::Addresses;
using tests::StacksBySize;
using tests::text;

class Unwinding : public testing::Test {
 protected:
  void record(const std::vector<std::string>& shape, const std::string& stacks = "dwarf,depth=256",
              const std::vector<std::string>& environment = {}) {
    const std::string path = dir_.file("a.tape");
    std::vector<std::string> words = {"heaptape", "record", "--force",
                                      "--stacks", stacks,   "-o",
                                      path,       "--",     tests::target_path(program_)};
    words.insert(words.end(), shape.begin(), shape.end());
    const auto ended =
        tests::run({.words = words, .environment = environment, .before_exec = before_exec_});
    ASSERT_EQ(ended.status, 0) << ended.describe();
    read_expected(ended.out);
    recorded_ = tests::stacks_on_tape(path);
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

  std::string program_ = "unwinding";
  tests::TempDir dir_;
  std::function<void()> before_exec_;
  StacksBySize expected_;
  StacksBySize recorded_;
};

TEST_F(Unwinding, KnowsFramesOfAllSizes) {
  record({"plain"});
  expect_same();
}

TEST_F(Unwinding, KnowsThatAnAlignedFrameMayHaveOtherCallersAtTheSamePlace) {
  record({"places"});
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

// Within frames that are being made or left, and within stubs of the .plt.
TEST_F(Unwinding, KnowsEveryInstructionThatASignalMayInterrupt) {
  record({"steps"});
  expect_same();
  EXPECT_GE(expected_.size(), 20u);
}

TEST_F(Unwinding, KnowsStubsThatWereWrittenByHand) {
  record({"stubs"});
  expect_same();
}

// But for the loader's search for a function at its first call: its frame is one of those whose
// caller is not known.
TEST_F(Unwinding, KnowsWhatATimerInterrupted) {
  record({"interrupts"}, "dwarf,depth=256", {"LD_BIND_NOW=1"});
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

// Other mappings may then lie close below the first thread's stack.
class UnwindingWithoutALimit : public Unwinding {
 protected:
  void SetUp() override {
    // Beside busy loops it then has no tables when the program begins.
    if (tests::kSanitized) GTEST_SKIP() << "without the limit, a sanitized recorder is slow";
    rlimit limit{};
    getrlimit(RLIMIT_STACK, &limit);
    if (limit.rlim_max != RLIM_INFINITY) GTEST_SKIP() << "stacks may not be unlimited here";
    before_exec_ = [] {
      const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
      if (setrlimit(RLIMIT_STACK, &unlimited) != 0) _exit(99);
    };
  }
};

TEST_F(UnwindingWithoutALimit, KnowsTheFirstThreadsStackAndOthers) {
  for (const char* shape : {"plain", "signals", "threads", "deep"}) {
    SCOPED_TRACE(shape);
    expected_.clear();
    record({shape});
    expect_same();
  }
}

TEST_F(UnwindingWithoutALimit, ReadsNothingBetweenTheFirstThreadsStackAndAnother) {
  record({"gap"});
  ASSERT_EQ(recorded_[7400].size(), 1u);
  EXPECT_EQ(recorded_[7400][0].back(), static_cast<uint64_t>(schema::StackEnd::kUnreadable));
  expect_same();
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
  record({"libraries", tests::target_path("call_back_200.so")});
  const std::vector<Addresses>& stacks = recorded_[8000];
  ASSERT_EQ(stacks.size(), 200u);
  EXPECT_TRUE(is_same(stacks[99], expected_[8000][99])) << text(stacks[99]);
  EXPECT_TRUE(is_same(stacks[199], expected_[8000][199])) << text(stacks[199]);
}

TEST_F(Unwinding, KnowsALibraryThatStaysWhenItIsClosed) {
  record({"reopened", tests::target_path("call_back_200.so")});
  const std::vector<Addresses>& stacks = recorded_[8201];
  ASSERT_EQ(stacks.size(), 100u);
  for (size_t i = 0; i < stacks.size(); ++i) {
    EXPECT_TRUE(is_same(stacks[i], expected_[8201][i])) << i << ": " << text(stacks[i]);
  }
}

// What was known of the first one's code would be wrong of the second's. How many stacks are whole
// depends on how soon the collector sees the second.
TEST_F(Unwinding, KnowsNothingOfALibraryThatComesToWhereAnotherWas) {
  record({"successors", tests::target_path("call_back_200.so"),
          tests::target_path("call_back_300.so")});
  std::vector<Addresses>& stacks = recorded_[8100];
  const std::vector<Addresses>& expected = expected_[8100];
  ASSERT_EQ(stacks.size(), expected.size());
  size_t whole = 0;
  for (size_t i = 0; i < stacks.size(); ++i) {
    if (stacks[i].back() == static_cast<uint64_t>(schema::StackEnd::kUnknownCode)) {
      EXPECT_EQ(stacks[i].size(), 3u) << text(stacks[i]);
      EXPECT_EQ(stacks[i][1], expected[i][0]);
    } else {
      EXPECT_TRUE(is_same(stacks[i], expected[i])) << i << ": " << text(stacks[i]);
      ++whole;
    }
  }
  EXPECT_GT(whole, 0u);
}

// Code that the program makes at run time.
class UnwindingMadeCode : public Unwinding {
 protected:
  UnwindingMadeCode() { program_ = "made_code"; }

  // The last of them: the recorder knows of the code by then.
  const Addresses& last(uint64_t size) { return recorded_[size].back(); }
  bool last_is_same(uint64_t size) { return is_same(last(size), expected_[size].back()); }
  // It ends in the code, after so many frames.
  bool is_cut(const Addresses& addresses, size_t frames) {
    return addresses.size() == frames + 1 &&
           addresses.back() == static_cast<uint64_t>(schema::StackEnd::kUnknownCode);
  }
};

TEST_F(UnwindingMadeCode, ReadsHowAFunctionReturns) {
  record({"plain"});
  expect_same();
  EXPECT_EQ(expected_.size(), 5u);
}

TEST_F(UnwindingMadeCode, GoesByFramePointersThatAreThere) {
  record({"guess"});
  EXPECT_TRUE(last_is_same(1100)) << text(last(1100));
}

TEST_F(UnwindingMadeCode, KnowsWhatIsTheSameAsBefore) {
  record({"random"});
  EXPECT_TRUE(last_is_same(900)) << text(last(900));
  expected_.erase(900);
  expect_same();
  EXPECT_GE(expected_.size(), 4000u);
}

TEST_F(UnwindingMadeCode, EndsWhereThereIsNoFramePointer) {
  record({"hides"});
  EXPECT_TRUE(is_cut(last(1200), 2)) << text(last(1200));
}

TEST_F(UnwindingMadeCode, EndsWhereWhatLooksLikeAFramePointerIsNone) {
  record({"misleads"});
  EXPECT_TRUE(is_cut(last(1300), 2)) << text(last(1300));
}

// What is next in code that a signal interrupted is not what a call there returns to.
TEST_F(UnwindingMadeCode, EndsInWhatASignalInterrupted) {
  record({"trap"});
  ASSERT_EQ(recorded_[3000].size(), 100u);
  for (const Addresses& addresses : recorded_[3000]) {
    EXPECT_TRUE(is_cut(addresses, 3)) << text(addresses);
  }
}

// The stack may end there, but has no frame that never was.
TEST_F(UnwindingMadeCode, MayBeOtherCodeLater) {
  record({"replace"});
  EXPECT_TRUE(last_is_same(4000)) << text(last(4000));
  EXPECT_TRUE(last_is_same(4001) || is_cut(last(4001), 2)) << text(last(4001));
}

}  // namespace
}  // namespace heaptape
