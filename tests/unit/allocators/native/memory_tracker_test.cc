#include "allocators/native/memory_tracker.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/address/pages.h"

namespace heaptape::allocators {
namespace {

using base::kPageBytes;

constexpr uint64_t kBreak = 0x555555560000;
constexpr uint64_t kAt = 0x7ffff0000000;
constexpr uint64_t kReadWrite = PROT_READ | PROT_WRITE;
constexpr uint64_t kPrivate = MAP_PRIVATE | MAP_ANONYMOUS;
constexpr auto kFailed = static_cast<uint64_t>(-12);  // -ENOMEM

class Tracker : public testing::Test {
 protected:
  void call(uint32_t number, std::initializer_list<uint64_t> arguments, uint64_t result) {
    MemoryCall call{};
    call.number = number;
    std::copy(arguments.begin(), arguments.end(), call.arguments);
    call.result = result;
    changes_.clear();
    tracker_.apply(call, 7, changes_);
  }
  void map(uint64_t at, uint64_t bytes, uint64_t protection = kReadWrite,
           uint64_t flags = kPrivate) {
    call(SYS_mmap, {0, bytes, protection, flags, static_cast<uint64_t>(-1)}, at);
  }
  void unmap(uint64_t at, uint64_t bytes) { call(SYS_munmap, {at, bytes}, 0); }
  void remap(uint64_t from, uint64_t bytes, uint64_t to, uint64_t new_bytes) {
    call(SYS_mremap, {from, bytes, new_bytes, MREMAP_MAYMOVE, 0}, to);
  }
  void protect(uint64_t at, uint64_t bytes, uint64_t protection) {
    call(SYS_mprotect, {at, bytes, protection}, 0);
  }
  uint64_t committed() const { return tracker_.committed_bytes(); }

  MemoryTracker tracker_{kBreak};
  std::vector<RegionEvent> changes_;  // of the last call
};

TEST_F(Tracker, CountsWritableAnonymousMappings) {
  map(kAt, 3 * kPageBytes);
  EXPECT_EQ(committed(), 3 * kPageBytes);
  ASSERT_EQ(changes_.size(), 1u);
  EXPECT_EQ(changes_[0].op, 7u);
  EXPECT_EQ(changes_[0].kind, RegionEvent::Kind::kCommit);
  EXPECT_EQ(changes_[0].range, (AddressRange{kAt, kAt + 3 * kPageBytes}));
}

TEST_F(Tracker, RoundsSizesUpToWholePages) {
  map(kAt, kPageBytes + 1);
  EXPECT_EQ(committed(), 2 * kPageBytes);
  unmap(kAt, kPageBytes + 1);
  EXPECT_EQ(committed(), 0u);
}

TEST_F(Tracker, CountsSharedAnonymousMappingsToo) {
  map(kAt, kPageBytes, kReadWrite, MAP_SHARED | MAP_ANONYMOUS);
  EXPECT_EQ(committed(), kPageBytes);
}

TEST_F(Tracker, LeavesReserveOutUntilItBecomesWritable) {
  map(kAt, 64 * kPageBytes, PROT_NONE);
  EXPECT_EQ(committed(), 0u);
  protect(kAt, 4 * kPageBytes, kReadWrite);
  EXPECT_EQ(committed(), 4 * kPageBytes);
}

TEST_F(Tracker, TakesMemoryOutThatStopsBeingWritable) {
  map(kAt, 4 * kPageBytes);
  protect(kAt + kPageBytes, kPageBytes, PROT_NONE);
  EXPECT_EQ(committed(), 3 * kPageBytes);
  protect(kAt, kPageBytes, PROT_READ);
  EXPECT_EQ(committed(), 2 * kPageBytes);
}

TEST_F(Tracker, CountsWhatAProtectionAddsToWhatIsPartlyWritable) {
  map(kAt, 6 * kPageBytes, PROT_NONE);
  protect(kAt + 2 * kPageBytes, 2 * kPageBytes, kReadWrite);
  protect(kAt + kPageBytes, 2 * kPageBytes, kReadWrite);  // the first of them is new
  EXPECT_EQ(committed(), 3 * kPageBytes);
  protect(kAt, 6 * kPageBytes, kReadWrite);
  EXPECT_EQ(committed(), 6 * kPageBytes);
}

TEST_F(Tracker, CountsWhatAProtectionTakesFromWhatIsPartlyWritable) {
  map(kAt, 6 * kPageBytes, PROT_NONE);
  protect(kAt + 2 * kPageBytes, 2 * kPageBytes, kReadWrite);
  protect(kAt + 3 * kPageBytes, 3 * kPageBytes, PROT_NONE);  // the first of them was writable
  EXPECT_EQ(committed(), kPageBytes);
  ASSERT_EQ(changes_.size(), 1u);
  EXPECT_EQ(changes_[0].kind, RegionEvent::Kind::kDecommit);
}

TEST_F(Tracker, SaysNothingOfAProtectionThatChangesNothing) {
  map(kAt, 4 * kPageBytes);
  protect(kAt, 4 * kPageBytes, kReadWrite);
  EXPECT_TRUE(changes_.empty());
  EXPECT_EQ(committed(), 4 * kPageBytes);
}

TEST_F(Tracker, IgnoresProtectionOfMemoryThatItDoesNotKnow) {
  protect(kAt, 4 * kPageBytes, kReadWrite);
  EXPECT_EQ(committed(), 0u);
}

TEST_F(Tracker, LeavesThreadStacksOut) {
  map(kAt, 4 * kPageBytes, kReadWrite, kPrivate | MAP_STACK);
  EXPECT_EQ(committed(), 0u);
  unmap(kAt, 4 * kPageBytes);
  EXPECT_TRUE(changes_.empty());
}

TEST_F(Tracker, LeavesMappedFilesOut) {
  call(SYS_mmap, {0, 4 * kPageBytes, kReadWrite, MAP_PRIVATE, 3}, kAt);
  EXPECT_EQ(committed(), 0u);
  protect(kAt, kPageBytes, kReadWrite);
  EXPECT_EQ(committed(), 0u);
}

// What becomes writable there is the file's.
TEST_F(Tracker, ForgetsReserveThatAFileIsMappedOver) {
  map(kAt, 4 * kPageBytes, PROT_NONE);
  call(SYS_mmap, {0, kPageBytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, 3}, kAt + kPageBytes);
  protect(kAt, 4 * kPageBytes, kReadWrite);
  EXPECT_EQ(committed(), 3 * kPageBytes);
}

TEST_F(Tracker, ReplacesWhatAFixedMappingCovers) {
  map(kAt, 4 * kPageBytes);
  map(kAt + kPageBytes, kPageBytes, PROT_NONE, kPrivate | MAP_FIXED);
  EXPECT_EQ(committed(), 3 * kPageBytes);
  call(SYS_mmap, {0, kPageBytes, kReadWrite, MAP_PRIVATE | MAP_FIXED, 3}, kAt);
  EXPECT_EQ(committed(), 2 * kPageBytes);
}

TEST_F(Tracker, CountsMemoryMappedOverItselfOnce) {
  map(kAt, 4 * kPageBytes);
  map(kAt, 4 * kPageBytes, kReadWrite, kPrivate | MAP_FIXED);
  EXPECT_EQ(committed(), 4 * kPageBytes);
}

TEST_F(Tracker, ReplacesTheEndsOfTwoMappingsThatAFixedOneCovers) {
  map(kAt, 4 * kPageBytes);
  map(kAt + 6 * kPageBytes, 4 * kPageBytes);
  map(kAt + 3 * kPageBytes, 5 * kPageBytes, PROT_NONE, kPrivate | MAP_FIXED);
  EXPECT_EQ(committed(), 5 * kPageBytes);
}

TEST_F(Tracker, TakesOutTheEndsOfTwoMappingsThatOneCallUnmaps) {
  map(kAt, 4 * kPageBytes);
  map(kAt + 6 * kPageBytes, 4 * kPageBytes);
  unmap(kAt + 3 * kPageBytes, 5 * kPageBytes);
  EXPECT_EQ(committed(), 5 * kPageBytes);
}

TEST_F(Tracker, ForgetsWhatWasThereWhenReserveMovesOverIt) {
  map(kAt, 4 * kPageBytes);
  map(kAt + 16 * kPageBytes, 2 * kPageBytes, PROT_NONE);
  remap(kAt + 16 * kPageBytes, 2 * kPageBytes, kAt + kPageBytes, 2 * kPageBytes);
  EXPECT_EQ(committed(), 2 * kPageBytes);
}

TEST_F(Tracker, CutsAHoleWhereTheMiddleIsUnmapped) {
  map(kAt, 4 * kPageBytes);
  unmap(kAt + kPageBytes, 2 * kPageBytes);
  EXPECT_EQ(committed(), 2 * kPageBytes);
  ASSERT_EQ(changes_.size(), 1u);
  EXPECT_EQ(changes_[0].kind, RegionEvent::Kind::kDecommit);
}

TEST_F(Tracker, SaysNothingOfUnmappingWhatWasNotCounted) {
  map(kAt, 4 * kPageBytes, PROT_NONE);
  unmap(kAt, 4 * kPageBytes);
  EXPECT_TRUE(changes_.empty());
}

TEST_F(Tracker, ForgetsReserveThatWasUnmapped) {
  map(kAt, 4 * kPageBytes, PROT_NONE);
  unmap(kAt, 4 * kPageBytes);
  protect(kAt, 4 * kPageBytes, kReadWrite);
  EXPECT_EQ(committed(), 0u);
}

TEST_F(Tracker, FollowsAMappingThatMoves) {
  map(kAt, 2 * kPageBytes);
  remap(kAt, 2 * kPageBytes, kAt + 16 * kPageBytes, 5 * kPageBytes);
  EXPECT_EQ(committed(), 5 * kPageBytes);
  unmap(kAt + 16 * kPageBytes, 5 * kPageBytes);
  EXPECT_EQ(committed(), 0u);
}

TEST_F(Tracker, FollowsAMappingThatGrowsOrShrinksInPlace) {
  map(kAt, 2 * kPageBytes);
  remap(kAt, 2 * kPageBytes, kAt, 5 * kPageBytes);
  EXPECT_EQ(committed(), 5 * kPageBytes);
  remap(kAt, 5 * kPageBytes, kAt, kPageBytes);
  EXPECT_EQ(committed(), kPageBytes);
}

TEST_F(Tracker, FollowsReserveThatMoves) {
  map(kAt, 2 * kPageBytes, PROT_NONE);
  remap(kAt, 2 * kPageBytes, kAt + 16 * kPageBytes, 5 * kPageBytes);
  EXPECT_EQ(committed(), 0u);
  protect(kAt + 16 * kPageBytes, 5 * kPageBytes, kReadWrite);
  EXPECT_EQ(committed(), 5 * kPageBytes);
}

TEST_F(Tracker, LeavesWhatBecomesOfForeignMappingsOut) {
  remap(kAt, kPageBytes, kAt + 16 * kPageBytes, 2 * kPageBytes);
  EXPECT_EQ(committed(), 0u);
}

TEST_F(Tracker, FollowsTheProgramBreak) {
  call(SYS_brk, {kBreak + 33 * kPageBytes}, kBreak + 33 * kPageBytes);
  EXPECT_EQ(committed(), 33 * kPageBytes);
  call(SYS_brk, {kBreak + 10 * kPageBytes}, kBreak + 10 * kPageBytes);
  EXPECT_EQ(committed(), 10 * kPageBytes);
}

TEST_F(Tracker, RoundsTheProgramBreakUpToAWholePage) {
  call(SYS_brk, {kBreak + 100}, kBreak + 100);
  EXPECT_EQ(committed(), kPageBytes);
}

// brk returns the break as it is, also when it could not move it.
TEST_F(Tracker, SeesNoChangeInAskingForTheBreakOrFailingToMoveIt) {
  call(SYS_brk, {0}, kBreak);
  call(SYS_brk, {kBreak + (uint64_t{1} << 46)}, kBreak);
  EXPECT_TRUE(changes_.empty());
  EXPECT_EQ(committed(), 0u);
}

TEST_F(Tracker, IgnoresCallsThatFailed) {
  map(kFailed, 4 * kPageBytes);
  EXPECT_EQ(committed(), 0u);
  map(kAt, 4 * kPageBytes);
  call(SYS_munmap, {kAt, 4 * kPageBytes}, static_cast<uint64_t>(-22));
  call(SYS_mprotect, {kAt, 4 * kPageBytes, PROT_NONE}, kFailed);
  remap(kAt, 4 * kPageBytes, kFailed, 8 * kPageBytes);
  EXPECT_EQ(committed(), 4 * kPageBytes);
}

}  // namespace
}  // namespace heaptape::allocators
