// --threads free: the tape's threads at work at the same time.
#include <gtest/gtest.h>

#include "allocators/native/free_order.h"
#include "tests/support/programs.h"
#include "tests/support/replayed_threads.h"

namespace heaptape::allocators {
namespace {

ReplayOp op_of(ReplayKind kind, uint16_t thread, uint32_t slot) {
  return {kind, 0, thread, slot, 24};
}

class OrderOfOps : public testing::Test {
 protected:
  std::vector<uint32_t> waits(std::vector<ReplayOp> ops) {
    std::vector<uint32_t> waits(ops.size());
    order_.prepare(ops, waits.data());
    ops_ = ops;
    return waits;
  }
  FreeOrder order_;
  std::vector<ReplayOp> ops_;  // with slots of the order's own
};

using Waits = std::vector<uint32_t>;

TEST_F(OrderOfOps, HasAThreadWaitForTheOneThatMadeItsBlock) {
  EXPECT_EQ(waits({op_of(ReplayKind::kMalloc, 1, 0), op_of(ReplayKind::kMalloc, 2, 1),
                   op_of(ReplayKind::kFree, 2, 0)}),
            (Waits{0, 0, 1}));
}

TEST_F(OrderOfOps, HasAThreadWaitForTheOneThatResizedItsBlock) {
  EXPECT_EQ(waits({op_of(ReplayKind::kMalloc, 1, 0), op_of(ReplayKind::kRealloc, 2, 0),
                   op_of(ReplayKind::kFree, 1, 0)}),
            (Waits{0, 1, 2}));
}

TEST_F(OrderOfOps, HasNoThreadWaitForItself) {
  EXPECT_EQ(waits({op_of(ReplayKind::kMalloc, 3, 0), op_of(ReplayKind::kFree, 3, 0)}),
            (Waits{0, 0}));
}

TEST_F(OrderOfOps, LeavesOutWhatFollowsFromAnEarlierWait) {
  EXPECT_EQ(waits({op_of(ReplayKind::kMalloc, 1, 0), op_of(ReplayKind::kMalloc, 1, 1),
                   op_of(ReplayKind::kFree, 2, 1), op_of(ReplayKind::kFree, 2, 0)}),
            (Waits{0, 0, 2, 0}));
}

TEST_F(OrderOfOps, HasNobodyWaitForOpsOfACallBefore) {
  waits({op_of(ReplayKind::kMalloc, 1, 0)});
  EXPECT_EQ(waits({op_of(ReplayKind::kFree, 2, 0)}), Waits{0});
}

// The tape's slots are used again at once.
TEST_F(OrderOfOps, GivesABlockNoSlotThatAnotherThreadIsYetToFree) {
  EXPECT_EQ(waits({op_of(ReplayKind::kMalloc, 1, 0), op_of(ReplayKind::kFree, 1, 0),
                   op_of(ReplayKind::kMalloc, 2, 0), op_of(ReplayKind::kMalloc, 1, 1)}),
            (Waits{0, 0, 0, 0}));
  EXPECT_NE(ops_[2].slot, ops_[0].slot);
  EXPECT_EQ(ops_[3].slot, ops_[0].slot);
}

TEST_F(OrderOfOps, UsesTheSlotsOfACallBeforeAgain) {
  for (int call = 0; call < 100; ++call) {
    waits({op_of(ReplayKind::kMalloc, 1, 0), op_of(ReplayKind::kFree, 2, 0)});
  }
  EXPECT_EQ(order_.slot_limit(), 1u);
}

TEST(FreeThreads, AreInTheAllocatorAtTheSameTime) {
  const Tape tape{{op_of(ReplayKind::kMalloc, 0, 0), op_of(ReplayKind::kMalloc, 1, 1)}, {}, 2};
  NativeOptions options =
      options_of(Threads::kFree, tests::target_path("libreplay_meeting_malloc.so"));
  options.clock = Clock::kReal;
  EXPECT_EQ(Replayed(options, tape).result().placements[0].usable_bytes, 2u);
}

// An allocator for which making a block takes long.
TEST(FreeThreads, WaitForABlockInEachBatch) {
  const Tape tape{{op_of(ReplayKind::kMalloc, 1, 0), op_of(ReplayKind::kFree, 0, 0)}, {}, 1};
  NativeOptions options =
      options_of(Threads::kFree, tests::target_path("libreplay_clock_malloc.so"),
                 {"REPLAY_CLOCK=monotonic", "REPLAY_NAP=1"});
  options.clock = Clock::kReal;
  Replayed replayed(options, tape);
  replayed.run(tape);
}

class FreeThreadsOf : public testing::TestWithParam<const char*> {};

// Whatever they do to each other's blocks, a block is there when it is used, and once.
TEST_P(FreeThreadsOf, AnyAllocatorUseBlocksInTheirOrder) {
  if (GetParam() == std::string(tests::mimalloc_library())) {
    if (const std::string why = tests::mimalloc_3_0_1(); !why.empty()) GTEST_SKIP() << why;
  }
  tests::Random random(tests::test_seed());
  for (const uint32_t threads : {2u, 8u, 64u}) {
    const Tape tape = RandomTape(random, threads).make(30000);
    const Replayed replayed(options_of(Threads::kFree, GetParam()), tape);
    const auto& placements = replayed.result().placements;
    ASSERT_EQ(placements.size(), tape.ops.size());
    for (size_t i = 0; i < tape.ops.size(); ++i) {
      const bool places = tape.ops[i].kind != ReplayKind::kFree;
      ASSERT_EQ(placements[i].address != 0, places) << i;
      ASSERT_TRUE(!places || placements[i].usable_bytes >= tape.ops[i].size) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, FreeThreadsOf,
                         testing::Values("", "libjemalloc.so.2", tests::mimalloc_library(),
                                         "libtcmalloc_minimal.so.4"));

TEST(FreeThreads, GoOnWhenTheLogOfMemoryCallsIsFull) {
  Tape tape;
  for (uint32_t i = 0; i < 12000; ++i) {
    const auto thread = static_cast<uint16_t>(i / 2 % 4);
    tape.ops.push_back(
        {i % 2 == 0 ? ReplayKind::kMalloc : ReplayKind::kFree, 0, thread, i / 2, 300'000});
  }
  tape.slots = 6000;
  const Replayed replayed(options_of(Threads::kFree, "", {"MALLOC_MMAP_THRESHOLD_=100000"}), tape);
  int64_t committed = 0;
  for (const RegionEvent& region : replayed.result().regions) {
    const auto bytes = static_cast<int64_t>(region.range.bytes());
    committed += region.kind == RegionEvent::Kind::kCommit ? bytes : -bytes;
  }
  EXPECT_GE(replayed.result().regions.size(), 11900u);  // an arena may serve a few of the blocks
  EXPECT_LT(committed, 2 << 20);
  EXPECT_TRUE(std::ranges::is_sorted(replayed.result().regions, {}, &RegionEvent::op));
}

}  // namespace
}  // namespace heaptape::allocators
