// Which block an event means. What each op asks for is in slot_resolver_ops_test.cc.
#include "replayer/engine/slot_resolver.h"

#include <gtest/gtest.h>

#include "tests/support/tapes.h"

namespace heaptape::replayer {
namespace {

using allocators::ReplayKind;
using allocators::ReplayOp;
using schema::Event;
using tests::free_event;
using tests::malloc_event;
using tests::realloc_event;

constexpr uint64_t kA = 0x10000;
constexpr uint64_t kB = 0x20000;
constexpr uint64_t kC = 0x30000;

class Resolver : public testing::Test {
 protected:
  ReplayOp resolve(const Event& event) {
    EXPECT_TRUE(resolver_.resolve({&event, 1}, events_++, batch_).ok());
    return batch_.ops[0];
  }
  LiveValues live() const { return resolver_.live().values(); }
  const SkippedCounts& skipped() const { return resolver_.skipped(); }

  SlotResolver resolver_;
  ResolvedBatch batch_;
  uint64_t events_ = 0;
};

TEST_F(Resolver, GivesEachLiveBlockASlotOfItsOwn) {
  EXPECT_EQ(resolve(malloc_event(1, kA)).slot, 0u);
  EXPECT_EQ(resolve(malloc_event(1, kB)).slot, 1u);
  EXPECT_EQ(batch_.slot_limit, 2u);
}

TEST_F(Resolver, HandsAFreedSlotOutAgain) {
  resolve(malloc_event(1, kA));
  resolve(malloc_event(1, kB));
  EXPECT_EQ(resolve(free_event(kA)).slot, 0u);
  EXPECT_EQ(resolve(malloc_event(1, kC)).slot, 0u);
  EXPECT_EQ(batch_.slot_limit, 2u);
}

TEST_F(Resolver, NeedsNoMoreSlotsThanBlocksAtTheirPeak) {
  for (uint64_t i = 0; i < 10000; ++i) {
    resolve(malloc_event(8, kA + i * 16));
    if (i >= 10) resolve(free_event(kA + (i - 10) * 16));
  }
  EXPECT_EQ(batch_.slot_limit, 11u);
}

TEST_F(Resolver, KeepsTheSlotOfABlockThatIsResized) {
  resolve(malloc_event(1, kA));
  const uint32_t slot = resolve(malloc_event(1, kB)).slot;
  const ReplayOp moved = resolve(realloc_event(kB, 100, kC));
  EXPECT_EQ(moved.kind, ReplayKind::kRealloc);
  EXPECT_EQ(moved.slot, slot);
  EXPECT_EQ(resolve(realloc_event(kC, 50, kC)).slot, slot);
  EXPECT_EQ(resolve(free_event(kC)).slot, slot);
}

TEST_F(Resolver, SaysWhatAResizeGains) {
  resolve(malloc_event(100, kA));
  EXPECT_EQ(first_new_byte(resolve(realloc_event(kA, 108, kA))), 100u);
  EXPECT_EQ(first_new_byte(resolve(realloc_event(kA, 50, kB))), 50u);
  EXPECT_EQ(first_new_byte(resolve(realloc_event(kB, 66, kB))), 50u);
  EXPECT_EQ(first_new_byte(resolve(realloc_event(kC, 200, kC))), 0u) << "of a block from before";
}

TEST_F(Resolver, ForgetsWhereAMovedBlockWas) {
  resolve(malloc_event(1, kA));
  resolve(realloc_event(kA, 100, kB));
  EXPECT_EQ(resolve(free_event(kA)).kind, ReplayKind::kNothing);
  EXPECT_EQ(skipped().unknown_frees, 1u);
}

TEST_F(Resolver, TakesResizeOfNullForAnAllocation) {
  EXPECT_EQ(resolve(realloc_event(0, 64, kA)).kind, ReplayKind::kMalloc);
  EXPECT_EQ(live().live_bytes, 64u);
}

TEST_F(Resolver, TakesResizeToZeroThatReturnedNullForAFree) {
  const uint32_t slot = resolve(malloc_event(64, kA)).slot;
  const ReplayOp op = resolve(realloc_event(kA, 0, 0));
  EXPECT_EQ(op.kind, ReplayKind::kFree);
  EXPECT_EQ(op.slot, slot);
  EXPECT_EQ(live().live_count, 0u);
}

TEST_F(Resolver, GivesAFreeTheSizeOfItsBlock) {
  resolve(malloc_event(64, kA));
  resolve(realloc_event(kA, 100, kB));
  EXPECT_EQ(resolve(free_event(kB)).size, 100u);
}

TEST_F(Resolver, CountsBlocksThatAnotherThreadFrees) {
  resolve(malloc_event(64, kA, 1));
  resolve(malloc_event(64, kB, 1));
  resolve(free_event(kA, 2));
  resolve(free_event(kB, 1));
  EXPECT_EQ(resolver_.releases(), 2u);
  EXPECT_EQ(resolver_.foreign_releases(), 1u);
}

TEST_F(Resolver, TakesTheThreadThatResizedABlockForItsOwner) {
  resolve(malloc_event(64, kA, 1));
  resolve(realloc_event(kA, 100, kB));  // by thread 0
  resolve(free_event(kB, 0));
  EXPECT_EQ(resolver_.foreign_releases(), 0u);
}

TEST_F(Resolver, KeepsABlockThatWasResizedToZeroAndReturned) {
  resolve(malloc_event(64, kA));
  const ReplayOp op = resolve(realloc_event(kA, 0, kB));
  EXPECT_EQ(op.kind, ReplayKind::kRealloc);
  EXPECT_EQ(op.size, 1u) << "glibc, asked for 0 bytes, would free it";
  EXPECT_EQ(live().live_count, 1u);
  EXPECT_EQ(live().live_bytes, 0u);
}

TEST_F(Resolver, KeepsTheBlockOfAFailedResize) {
  resolve(malloc_event(64, kA));
  EXPECT_EQ(resolve(realloc_event(kA, 1000, 0)).kind, ReplayKind::kNothing);
  EXPECT_EQ(skipped().failed_calls, 1u);
  EXPECT_EQ(live().live_bytes, 64u);
  EXPECT_EQ(resolve(free_event(kA)).kind, ReplayKind::kFree);
}

TEST_F(Resolver, TakesResizeOfAnUnknownBlockForAnAllocation) {
  const ReplayOp op = resolve(realloc_event(kA, 64, kB));
  EXPECT_EQ(op.kind, ReplayKind::kMalloc);
  EXPECT_EQ(resolve(free_event(kB)).slot, op.slot);
}

TEST_F(Resolver, SkipsResizeToZeroOfAnUnknownBlock) {
  EXPECT_EQ(resolve(realloc_event(kA, 0, 0)).kind, ReplayKind::kNothing);
  EXPECT_EQ(skipped().unknown_frees, 1u);
}

TEST_F(Resolver, SkipsAllocationsThatFailed) {
  EXPECT_EQ(resolve(malloc_event(64, 0)).kind, ReplayKind::kNothing);
  EXPECT_EQ(resolve(realloc_event(0, 64, 0)).kind, ReplayKind::kNothing);
  EXPECT_EQ(skipped().failed_calls, 2u);
  EXPECT_EQ(batch_.slot_limit, 0u);
}

TEST_F(Resolver, PassesFreesOfNullOn) {
  EXPECT_EQ(resolve(free_event(0)).kind, ReplayKind::kFreeNull);
  EXPECT_EQ(skipped().unknown_frees, 0u);
}

TEST_F(Resolver, SkipsASecondFreeOfABlock) {
  resolve(malloc_event(1, kA));
  resolve(free_event(kA));
  EXPECT_EQ(resolve(free_event(kA)).kind, ReplayKind::kNothing);
}

TEST_F(Resolver, GivesABlockHandedOutWhileAliveANewSlot) {
  const uint32_t first = resolve(malloc_event(10, kA)).slot;
  const uint32_t second = resolve(malloc_event(20, kA)).slot;
  EXPECT_NE(first, second);
  EXPECT_EQ(resolve(free_event(kA)).slot, second);
  EXPECT_EQ(live().live_count, 1u) << "the first stays alive to the end";
  EXPECT_EQ(live().live_bytes, 10u);
}

// The second block has the lower slot: refining goes through the slots in order.
TEST_F(Resolver, RemembersTheNewerOfTwoBlocksAtOnePlaceWhenItRefines) {
  resolve(malloc_event(1, kB));
  resolve(malloc_event(10, kA));
  resolve(free_event(kB));
  const uint32_t newer = resolve(malloc_event(20, kA)).slot;
  resolve(malloc_event(1, kC + 8));
  EXPECT_EQ(resolve(free_event(kA)).slot, newer);
}

TEST_F(Resolver, DoesNotBringALostBlockBackWhenItRefines) {
  resolve(malloc_event(10, kA));
  resolve(malloc_event(20, kA));
  resolve(free_event(kA));
  resolve(malloc_event(1, kC + 8));
  EXPECT_EQ(resolve(free_event(kA)).kind, ReplayKind::kNothing);
}

TEST_F(Resolver, LetsAResizeTakeThePlaceOfALiveBlock) {
  resolve(malloc_event(10, kA));
  const uint32_t mover = resolve(malloc_event(20, kB)).slot;
  resolve(realloc_event(kB, 30, kA));
  EXPECT_EQ(resolve(free_event(kA)).slot, mover);
  EXPECT_EQ(live().live_bytes, 10u);
}

TEST_F(Resolver, FollowsBlocksOfAnyAlignment) {
  for (const uint64_t address : {kA, kA + 8, kA + 3, kA + 24, base::kAddressLimit - 5}) {
    const uint32_t slot = resolve(malloc_event(1, address)).slot;
    EXPECT_EQ(resolve(realloc_event(address, 2, address)).slot, slot) << std::hex << address;
  }
  for (const uint64_t address : {kA, kA + 8, kA + 3, kA + 24, base::kAddressLimit - 5}) {
    EXPECT_EQ(resolve(free_event(address)).kind, ReplayKind::kFree) << std::hex << address;
  }
}

TEST_F(Resolver, RefusesMoreLiveBlocksThanItHasSlots) {
  SlotResolver small(0, 2);
  const std::vector<Event> events = {malloc_event(1, kA), malloc_event(1, kB), free_event(kA),
                                     malloc_event(1, kA), malloc_event(1, kC)};
  EXPECT_TRUE(small.resolve(std::span(events).first(4), 0, batch_).ok());
  const auto status = small.resolve(std::span(events).last(1), 4, batch_);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("more than 2 blocks alive at once"), std::string::npos)
      << status.error().message;
}

TEST_F(Resolver, SaysHowManyBytesWereLiveAfterEachEvent) {
  const std::vector<Event> events = {malloc_event(10, kA), malloc_event(5, kB),
                                     realloc_event(kA, 100, kC), free_event(kB), free_event(0)};
  EXPECT_TRUE(resolver_.resolve(events, 0, batch_).ok());
  EXPECT_EQ(batch_.live_bytes, (std::vector<uint64_t>{10, 15, 105, 100, 100}));
  EXPECT_EQ(batch_.recorded_addresses, (std::vector<uint64_t>{kA, kB, kC, 0, 0}));
  EXPECT_EQ(batch_.live.live_count, 1u);
}

}  // namespace
}  // namespace heaptape::replayer
