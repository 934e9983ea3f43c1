// The tape's threads as one driver pretends them, against the same threads in lock step: what an
// allocator does must not depend on which of the two it is.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "allocators/native/native_backend.h"
#include "base/address/pages.h"
#include "tests/support/limit.h"
#include "tests/support/programs.h"
#include "tests/support/replayed_threads.h"
#include "tests/support/tapes.h"

namespace heaptape::allocators {
namespace {

using base::kPageBytes;
using schema::ThreadEnd;

struct Candidate {
  const char* name;
  const char* library;
  std::vector<std::string> environment = {};  // so that nothing goes by the clock
};

class OrderedThreads : public testing::TestWithParam<std::tuple<Candidate, uint32_t>> {};

TEST_P(OrderedThreads, PlaceEveryBlockAsThreadsInLockStep) {
  const auto& [candidate, threads] = GetParam();
  if (candidate.name == std::string("mimalloc")) {
    if (const std::string why = tests::mimalloc_3_0_1(); !why.empty()) GTEST_SKIP() << why;
  }
  tests::Random random(tests::test_seed());
  const Tape tape = RandomTape(random, threads).make(30000);
  ASSERT_GT(tape.ends.size(), 20u);
  const Replayed ordered(options_of(Threads::kOrdered, candidate.library, candidate.environment),
                         tape);
  const Replayed lock_step(options_of(Threads::kLockStep, candidate.library, candidate.environment),
                           tape);
  EXPECT_EQ(ordered.offsets(), lock_step.offsets());
}

INSTANTIATE_TEST_SUITE_P(
    Of, OrderedThreads,
    testing::Combine(testing::Values(Candidate{"glibc", ""},
                                     Candidate{"jemalloc",
                                               "libjemalloc.so.2",
                                               {"MALLOC_CONF=dirty_decay_ms:-1,muzzy_decay_ms:-1"}},
                                     Candidate{"mimalloc", tests::mimalloc_library()},
                                     Candidate{"tcmalloc", "libtcmalloc_minimal.so.4"}),
                     testing::Values(8u, 64u)),
    [](const auto& instance) {
      return std::string(std::get<0>(instance.param).name) +
             std::to_string(std::get<1>(instance.param));
    });

NativeOptions leaving(Threads threads) {
  return options_of(threads, tests::target_path("libreplay_leaving_malloc.so"));
}

// A block of its own for each thread named.
Tape one_block_each(const std::vector<uint16_t>& threads) {
  Tape tape;
  for (const uint16_t thread : threads) {
    tape.ops.push_back({ReplayKind::kMalloc, 0, thread, tape.slots++, 24});
  }
  return tape;
}

class EveryWay : public testing::TestWithParam<Threads> {
 protected:
  std::vector<Placement> placed(const NativeOptions& options, const Tape& tape) {
    return Replayed(options, tape).result().placements;
  }
};

INSTANTIATE_TEST_SUITE_P(Of, EveryWay,
                         testing::Values(Threads::kOrdered, Threads::kLockStep, Threads::kFree),
                         [](const auto& instance) {
                           switch (instance.param) {
                             case Threads::kOrdered:
                               return "Ordered";
                             case Threads::kFree:
                               return "Free";
                             default:
                               return "LockStep";
                           }
                         });

TEST_P(EveryWay, ThreadsTakeNothingFromTheHeapUnderTest) {
  const auto blocks = placed(options_of(GetParam()), one_block_each({0, 1, 2, 3, 0}));
  EXPECT_EQ(blocks[4].address, blocks[0].address + 32);
}

constexpr uint64_t kArenaBytes = 64 << 20;  // of glibc, which aligns them

TEST_P(EveryWay, AThreadHasItsOwnArena) {
  const auto blocks = placed(options_of(GetParam()), one_block_each({0, 1, 1, 2, 1}));
  EXPECT_NE(blocks[1].address / kArenaBytes, blocks[3].address / kArenaBytes);
  EXPECT_EQ(blocks[2].address, blocks[1].address + 32);
  EXPECT_EQ(blocks[4].address, blocks[2].address + 32);
}

TEST_P(EveryWay, TheArenaOfAThreadThatEndedIsTheNextOnes) {
  Tape tape = one_block_each({0, 1, 2});
  tape.ends = {{2, 1}};
  const auto blocks = placed(options_of(GetParam()), tape);
  EXPECT_EQ(blocks[1].address / kArenaBytes, blocks[2].address / kArenaBytes);
}

TEST_P(EveryWay, WhatAThreadGivesBackAtItsEndCountsForTheNextOp) {
  Tape tape = one_block_each({0, 1, 0, 0});
  tape.ends = {{2, 1}};
  const Replayed replayed(leaving(GetParam()), tape);
  const RegionEvent& last = replayed.result().regions.back();
  EXPECT_EQ(last.kind, RegionEvent::Kind::kDecommit);
  EXPECT_EQ(last.op, 2u);
}

TEST_P(EveryWay, WhatAThreadGivesBackBehindTheLastOpComesAfterTheBatch) {
  Tape tape = one_block_each({0, 1, 0});
  tape.ends = {{3, 1}};
  const Replayed replayed(leaving(GetParam()), tape);
  const RegionEvent& last = replayed.result().regions.back();
  EXPECT_EQ(last.kind, RegionEvent::Kind::kDecommit);
  EXPECT_EQ(last.op, 3u);
}

TEST_P(EveryWay, ANumberIsANewThreadAfterItsEnd) {
  Tape tape = one_block_each({0, 1, 1, 1});
  tape.ends = {{2, 1}};
  const Replayed replayed(leaving(GetParam()), tape);
  EXPECT_EQ(replayed.result().regions.size(), 4u);  // 2 of thread 1, one given back between
}

TEST_P(EveryWay, AnEndOfAThreadThatMadeNoCallIsNothing) {
  Tape tape = one_block_each({0, 1, 0});
  tape.ends = {{0, 7}, {1, 0}, {2, 0}};
  EXPECT_EQ(placed(options_of(GetParam()), tape).size(), 3u);
}

TEST_P(EveryWay, AnEndBeyondTheBatchComesAfterIt) {
  Tape tape = one_block_each({0, 1, 0});
  tape.ends = {{99, 1}};
  const Replayed replayed(leaving(GetParam()), tape);
  EXPECT_EQ(replayed.result().regions.back().op, 3u);
}

TEST_P(EveryWay, TheKernelsNumberOfAThreadIsItsOwn) {
  const auto blocks = placed(leaving(GetParam()), one_block_each({0, 1, 2, 1, 0}));
  EXPECT_EQ(blocks[3].address, blocks[1].address + 32);
  EXPECT_EQ(blocks[4].address, blocks[0].address + 32);
  EXPECT_NE(blocks[2].address / kPageBytes, blocks[1].address / kPageBytes);
}

TEST_P(EveryWay, ThreadsThatAllEndAtOnceTakeSeveralTurns) {
  constexpr uint16_t kThreads = 2 * kMaxThreadEnds + kMaxMemoryCalls;
  std::vector<uint16_t> threads(kThreads);
  std::iota(threads.begin(), threads.end(), uint16_t{0});
  Tape tape = one_block_each(threads);
  for (const uint16_t thread : threads) tape.ends.push_back({kThreads, thread});
  const Replayed replayed(leaving(GetParam()), tape);
  const auto& regions = replayed.result().regions;
  EXPECT_EQ(regions.size(), 2u * kThreads - 1);  // all but thread 0 end
  EXPECT_TRUE(std::ranges::is_sorted(regions, {}, &RegionEvent::op));
}

TEST_P(EveryWay, TenThousandThreadsOneAfterAnotherAreNoMoreThanOne) {
  Tape tape;
  for (uint32_t thread = 1; thread <= 10000; ++thread) {
    tape.ops.push_back({ReplayKind::kMalloc, 0, static_cast<uint16_t>(thread), 0, 100});
    tape.ops.push_back({ReplayKind::kFree, 0, static_cast<uint16_t>(thread), 0, 0});
    tape.ends.push_back({tape.ops.size(), thread});
  }
  tape.slots = 1;
  const auto blocks = placed(options_of(GetParam()), tape);
  ASSERT_EQ(blocks.size(), 20000u);
  EXPECT_EQ(blocks[19998].address / kArenaBytes, blocks[0].address / kArenaBytes);
}

// Each stack has more than 64 KiB.
TEST_P(EveryWay, AThreadTakesTheStackOfOneThatEnded) {
  if (tests::kSanitized) GTEST_SKIP() << "a sanitizer takes more memory than the limit";
  const tests::Limit limit(RLIMIT_DATA, rlim_t{64} << 20);
  Tape tape;
  for (uint32_t i = 0; i < 1500; ++i) {
    tape.ops.push_back({ReplayKind::kFreeNull, 0, 1, 0, 0});
    tape.ends.push_back({tape.ops.size(), 1});
  }
  tape.slots = 1;
  const Replayed replayed(options_of(GetParam()), tape);
  EXPECT_EQ(replayed.result().placements.size(), 1500u);
}

TEST_P(EveryWay, AThreadThatOnlyFreesHasACacheOfItsOwn) {
  Tape tape = one_block_each({0, 0});
  tape.ops.push_back({ReplayKind::kFree, 0, 1, 0, 0});
  tape.ops.push_back({ReplayKind::kMalloc, 0, 0, 0, 24});
  tape.ops.push_back({ReplayKind::kMalloc, 0, 1, 2, 24});
  tape.slots = 3;
  const auto blocks = placed(options_of(GetParam()), tape);
  EXPECT_NE(blocks[3].address, blocks[0].address);
  EXPECT_EQ(blocks[4].address, blocks[0].address);
}

TEST_P(EveryWay, AnAllocatorThatAbortsInAnyThreadHasAborted) {
  Tape tape;
  for (uint32_t i = 0; i < 1000; ++i) {
    tape.ops.push_back({ReplayKind::kMalloc, 0, static_cast<uint16_t>(i == 0 ? 0 : 1), i, 24});
  }
  tape.slots = 1000;
  NativeBackend backend(options_of(GetParam(), tests::target_path("libreplay_aborting_malloc.so")));
  ASSERT_TRUE(backend.start().ok());
  BatchResult result;
  ASSERT_TRUE(backend.submit({0, tape.slots, tape.ops, {}, {}}).ok());
  const auto status = backend.collect(result);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("signal 6"), std::string::npos) << status.error().message;
}

TEST_P(EveryWay, ThreadsThatTheSystemDoesNotGrantAreAnError) {
  if (tests::kSanitized) GTEST_SKIP() << "a sanitizer takes more address space than the limit";
  NativeBackend backend(options_of(GetParam()));
  const tests::Limit limit(RLIMIT_AS, rlim_t{1} << 30);
  ASSERT_TRUE(backend.start().ok());
  const Tape tape = one_block_each({0, 1});
  BatchResult result;
  ASSERT_TRUE(backend.submit({0, tape.slots, tape.ops, {}, {}}).ok());
  const auto status = backend.collect(result);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("--threads merged"), std::string::npos);
}

std::string said_of_threads(const NativeOptions& options) {
  NativeBackend backend(options);
  EXPECT_TRUE(backend.start().ok());
  return backend.threads();
}

TEST(ThreadsOfARun, AreNamed) {
  EXPECT_EQ(said_of_threads(options_of(Threads::kMerged)), "merged");
  EXPECT_EQ(said_of_threads(options_of(Threads::kOrdered)), "ordered");
  EXPECT_EQ(said_of_threads(options_of(Threads::kLockStep)), "ordered (lock step)");
  EXPECT_EQ(said_of_threads(options_of(Threads::kFree)), "free");
}

TEST(ThreadsOfARun, AreInLockStepWhereCachesGoByProcessor) {
  EXPECT_EQ(said_of_threads(
                options_of(Threads::kOrdered, tests::target_path("libreplay_processor_malloc.so"))),
            "ordered (lock step)");
}

TEST(ThreadsOfARun, SayWhyTheyAreInLockStep) {
  NativeBackend backend(
      options_of(Threads::kOrdered, tests::target_path("libreplay_processor_malloc.so")));
  EXPECT_TRUE(backend.start().ok());
  EXPECT_EQ(backend.notes(),
            std::vector<std::string>{"replayed in lock step: libreplay_processor_malloc.so keeps "
                                     "caches for each processor"});
}

}  // namespace
}  // namespace heaptape::allocators
