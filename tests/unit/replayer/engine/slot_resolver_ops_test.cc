// What each recorded call asks of the replaying allocator.
#include <gtest/gtest.h>

#include <map>

#include "replayer/engine/slot_resolver.h"

namespace heaptape::replayer {
namespace {

using allocators::ReplayKind;
using allocators::ReplayOp;
using schema::Event;
using schema::Op;

constexpr uint64_t kBlock = 0x10000;

// Of a process that has a block at kBlock when `op` releases or resizes.
ReplayOp replayed(Op op, uint64_t size = 100, uint64_t alignment = 0, uint32_t thread = 0) {
  const schema::OpInfo& info = schema::op_info(op);
  SlotResolver resolver;
  ResolvedBatch batch;
  const Event before{Op::kMalloc, 0, 1, 0, kBlock, 0};
  const bool gives_up = info.kind != schema::OpKind::kAllocate;
  const bool returns = info.kind != schema::OpKind::kRelease;
  const Event event{
      op, thread, returns ? size : 0, alignment, returns ? 2 * kBlock : 0, gives_up ? kBlock : 0};
  EXPECT_TRUE(resolver.resolve({&before, 1}, 0, batch).ok());
  EXPECT_TRUE(resolver.resolve({&event, 1}, 1, batch).ok());
  return batch.ops[0];
}

ReplayKind expected_kind(Op op) {
  static const std::map<Op, ReplayKind> kinds = {
      {Op::kMalloc, ReplayKind::kMalloc},
      {Op::kCalloc, ReplayKind::kCalloc},
      {Op::kRealloc, ReplayKind::kRealloc},
      {Op::kReallocArray, ReplayKind::kRealloc},
      {Op::kAlignedAlloc, ReplayKind::kAlignedAlloc},
      {Op::kPosixMemalign, ReplayKind::kPosixMemalign},
      {Op::kMemalign, ReplayKind::kMemalign},
      {Op::kValloc, ReplayKind::kValloc},
      {Op::kPvalloc, ReplayKind::kPvalloc},
      {Op::kNew, ReplayKind::kMalloc},
      {Op::kNewArray, ReplayKind::kMalloc},
      {Op::kNewNothrow, ReplayKind::kMalloc},
      {Op::kNewArrayNothrow, ReplayKind::kMalloc},
      {Op::kNewAligned, ReplayKind::kAlignedAlloc},
      {Op::kNewArrayAligned, ReplayKind::kAlignedAlloc},
      {Op::kNewAlignedNothrow, ReplayKind::kAlignedAlloc},
      {Op::kNewArrayAlignedNothrow, ReplayKind::kAlignedAlloc},
  };
  const auto found = kinds.find(op);
  return found == kinds.end() ? ReplayKind::kFree : found->second;
}

TEST(ReplayedOp, IsOfTheKindThatTheEntryPointComesDownTo) {
  for (int stored = 0; stored < schema::kOpLimit; ++stored) {
    if (!schema::is_valid_op(static_cast<uint8_t>(stored))) continue;
    const Op op = static_cast<Op>(stored);
    EXPECT_EQ(replayed(op, 100, 16).kind, expected_kind(op)) << schema::op_info(op).name;
  }
}

TEST(ReplayedOp, AsksForTheRecordedSize) {
  for (const Op op : {Op::kMalloc, Op::kCalloc, Op::kRealloc, Op::kReallocArray, Op::kPosixMemalign,
                      Op::kMemalign, Op::kAlignedAlloc, Op::kValloc, Op::kPvalloc, Op::kNew}) {
    EXPECT_EQ(replayed(op, 100, 64).size, 100u) << schema::op_info(op).name;
  }
}

TEST(ReplayedOp, AsksMallocForNothingWhereTheProgramDid) {
  EXPECT_EQ(replayed(Op::kMalloc, 0).size, 0u);
}

TEST(ReplayedOp, OfOperatorNewAsksForOneByteAtLeast) {
  for (const Op op : {Op::kNew, Op::kNewArray, Op::kNewNothrow, Op::kNewArrayNothrow}) {
    EXPECT_EQ(replayed(op, 0).size, 1u) << schema::op_info(op).name;
  }
}

TEST(ReplayedOp, OfAlignedNewRoundsTheSizeUpAsLibstdcxxDoes) {
  EXPECT_EQ(replayed(Op::kNewAligned, 0, 64).size, 64u);
  EXPECT_EQ(replayed(Op::kNewAligned, 64, 64).size, 64u);
  EXPECT_EQ(replayed(Op::kNewArrayAligned, 65, 64).size, 128u);
  EXPECT_EQ(replayed(Op::kNewAlignedNothrow, 5, 1).size, 5u);
}

TEST(ReplayedOp, OfAlignedNewStaysHugeWhereRoundingWouldOverflow) {
  EXPECT_GT(replayed(Op::kNewAligned, UINT64_MAX, 64).size, UINT64_MAX - 64);
}

TEST(ReplayedOp, CarriesTheAlignmentRoundedUpToAPowerOfTwo) {
  const std::map<uint64_t, int> log2s = {{0, 0},
                                         {1, 0},
                                         {2, 1},
                                         {3, 2},
                                         {16, 4},
                                         {4096, 12},
                                         {48, 6},
                                         {uint64_t{1} << 47, 47},
                                         {uint64_t{1} << 48, 47},
                                         {UINT64_MAX, 47}};
  for (const auto& [alignment, log2] : log2s) {
    EXPECT_EQ(replayed(Op::kMemalign, 100, alignment).log2, log2) << alignment;
  }
}

TEST(ReplayedOp, NumbersThreadsModulo65536) {
  EXPECT_EQ(replayed(Op::kMalloc, 1, 0, 65535).thread, 65535u);
  EXPECT_EQ(replayed(Op::kMalloc, 1, 0, (1 << 20) + 3).thread, 3u);
}

}  // namespace
}  // namespace heaptape::replayer
