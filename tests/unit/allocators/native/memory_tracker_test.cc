#include "allocators/native/memory_tracker.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace heaptape::allocators {
namespace {

constexpr uint64_t kPage = 4096;
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
  map(kAt, 3 * kPage);
  EXPECT_EQ(committed(), 3 * kPage);
  ASSERT_EQ(changes_.size(), 1u);
  EXPECT_EQ(changes_[0].op, 7u);
  EXPECT_EQ(changes_[0].kind, RegionEvent::Kind::kCommit);
  EXPECT_EQ(changes_[0].range, (AddressRange{kAt, kAt + 3 * kPage}));
}

TEST_F(Tracker, RoundsSizesUpToWholePages) {
  map(kAt, kPage + 1);
  EXPECT_EQ(committed(), 2 * kPage);
  unmap(kAt, kPage + 1);
  EXPECT_EQ(committed(), 0u);
}

TEST_F(Tracker, CountsSharedAnonymousMappingsToo) {
  map(kAt, kPage, kReadWrite, MAP_SHARED | MAP_ANONYMOUS);
  EXPECT_EQ(committed(), kPage);
}

TEST_F(Tracker, LeavesReserveOutUntilItBecomesWritable) {
  map(kAt, 64 * kPage, PROT_NONE);
  EXPECT_EQ(committed(), 0u);
  protect(kAt, 4 * kPage, kReadWrite);
  EXPECT_EQ(committed(), 4 * kPage);
}

TEST_F(Tracker, TakesMemoryOutThatStopsBeingWritable) {
  map(kAt, 4 * kPage);
  protect(kAt + kPage, kPage, PROT_NONE);
  EXPECT_EQ(committed(), 3 * kPage);
  protect(kAt, kPage, PROT_READ);
  EXPECT_EQ(committed(), 2 * kPage);
}

TEST_F(Tracker, CountsWhatAProtectionAddsToWhatIsPartlyWritable) {
  map(kAt, 6 * kPage, PROT_NONE);
  protect(kAt + 2 * kPage, 2 * kPage, kReadWrite);
  protect(kAt + kPage, 2 * kPage, kReadWrite);  // the first of them is new
  EXPECT_EQ(committed(), 3 * kPage);
  protect(kAt, 6 * kPage, kReadWrite);
  EXPECT_EQ(committed(), 6 * kPage);
}

TEST_F(Tracker, CountsWhatAProtectionTakesFromWhatIsPartlyWritable) {
  map(kAt, 6 * kPage, PROT_NONE);
  protect(kAt + 2 * kPage, 2 * kPage, kReadWrite);
  protect(kAt + 3 * kPage, 3 * kPage, PROT_NONE);  // the first of them was writable
  EXPECT_EQ(committed(), kPage);
  ASSERT_EQ(changes_.size(), 1u);
  EXPECT_EQ(changes_[0].kind, RegionEvent::Kind::kDecommit);
}

TEST_F(Tracker, SaysNothingOfAProtectionThatChangesNothing) {
  map(kAt, 4 * kPage);
  protect(kAt, 4 * kPage, kReadWrite);
  EXPECT_TRUE(changes_.empty());
  EXPECT_EQ(committed(), 4 * kPage);
}

TEST_F(Tracker, IgnoresProtectionOfMemoryThatItDoesNotKnow) {
  protect(kAt, 4 * kPage, kReadWrite);
  EXPECT_EQ(committed(), 0u);
}

TEST_F(Tracker, LeavesThreadStacksOut) {
  map(kAt, 4 * kPage, kReadWrite, kPrivate | MAP_STACK);
  EXPECT_EQ(committed(), 0u);
  unmap(kAt, 4 * kPage);
  EXPECT_TRUE(changes_.empty());
}

TEST_F(Tracker, LeavesMappedFilesOut) {
  call(SYS_mmap, {0, 4 * kPage, kReadWrite, MAP_PRIVATE, 3}, kAt);
  EXPECT_EQ(committed(), 0u);
  protect(kAt, kPage, kReadWrite);
  EXPECT_EQ(committed(), 0u);
}

TEST_F(Tracker, ReplacesWhatAFixedMappingCovers) {
  map(kAt, 4 * kPage);
  map(kAt + kPage, kPage, PROT_NONE, kPrivate | MAP_FIXED);
  EXPECT_EQ(committed(), 3 * kPage);
  call(SYS_mmap, {0, kPage, kReadWrite, MAP_PRIVATE | MAP_FIXED, 3}, kAt);
  EXPECT_EQ(committed(), 2 * kPage);
}

TEST_F(Tracker, CountsMemoryMappedOverItselfOnce) {
  map(kAt, 4 * kPage);
  map(kAt, 4 * kPage, kReadWrite, kPrivate | MAP_FIXED);
  EXPECT_EQ(committed(), 4 * kPage);
}

TEST_F(Tracker, ReplacesTheEndsOfTwoMappingsThatAFixedOneCovers) {
  map(kAt, 4 * kPage);
  map(kAt + 6 * kPage, 4 * kPage);
  map(kAt + 3 * kPage, 5 * kPage, PROT_NONE, kPrivate | MAP_FIXED);
  EXPECT_EQ(committed(), 5 * kPage);
}

TEST_F(Tracker, TakesOutTheEndsOfTwoMappingsThatOneCallUnmaps) {
  map(kAt, 4 * kPage);
  map(kAt + 6 * kPage, 4 * kPage);
  unmap(kAt + 3 * kPage, 5 * kPage);
  EXPECT_EQ(committed(), 5 * kPage);
}

TEST_F(Tracker, ForgetsWhatWasThereWhenReserveMovesOverIt) {
  map(kAt, 4 * kPage);
  map(kAt + 16 * kPage, 2 * kPage, PROT_NONE);
  remap(kAt + 16 * kPage, 2 * kPage, kAt + kPage, 2 * kPage);
  EXPECT_EQ(committed(), 2 * kPage);
}

TEST_F(Tracker, CutsAHoleWhereTheMiddleIsUnmapped) {
  map(kAt, 4 * kPage);
  unmap(kAt + kPage, 2 * kPage);
  EXPECT_EQ(committed(), 2 * kPage);
  ASSERT_EQ(changes_.size(), 1u);
  EXPECT_EQ(changes_[0].kind, RegionEvent::Kind::kDecommit);
}

TEST_F(Tracker, SaysNothingOfUnmappingWhatWasNotCounted) {
  map(kAt, 4 * kPage, PROT_NONE);
  unmap(kAt, 4 * kPage);
  EXPECT_TRUE(changes_.empty());
}

TEST_F(Tracker, ForgetsReserveThatWasUnmapped) {
  map(kAt, 4 * kPage, PROT_NONE);
  unmap(kAt, 4 * kPage);
  protect(kAt, 4 * kPage, kReadWrite);
  EXPECT_EQ(committed(), 0u);
}

TEST_F(Tracker, FollowsAMappingThatMoves) {
  map(kAt, 2 * kPage);
  remap(kAt, 2 * kPage, kAt + 16 * kPage, 5 * kPage);
  EXPECT_EQ(committed(), 5 * kPage);
  unmap(kAt + 16 * kPage, 5 * kPage);
  EXPECT_EQ(committed(), 0u);
}

TEST_F(Tracker, FollowsAMappingThatGrowsOrShrinksInPlace) {
  map(kAt, 2 * kPage);
  remap(kAt, 2 * kPage, kAt, 5 * kPage);
  EXPECT_EQ(committed(), 5 * kPage);
  remap(kAt, 5 * kPage, kAt, kPage);
  EXPECT_EQ(committed(), kPage);
}

TEST_F(Tracker, FollowsReserveThatMoves) {
  map(kAt, 2 * kPage, PROT_NONE);
  remap(kAt, 2 * kPage, kAt + 16 * kPage, 5 * kPage);
  EXPECT_EQ(committed(), 0u);
  protect(kAt + 16 * kPage, 5 * kPage, kReadWrite);
  EXPECT_EQ(committed(), 5 * kPage);
}

TEST_F(Tracker, LeavesWhatBecomesOfForeignMappingsOut) {
  remap(kAt, kPage, kAt + 16 * kPage, 2 * kPage);
  EXPECT_EQ(committed(), 0u);
}

TEST_F(Tracker, FollowsTheProgramBreak) {
  call(SYS_brk, {kBreak + 33 * kPage}, kBreak + 33 * kPage);
  EXPECT_EQ(committed(), 33 * kPage);
  call(SYS_brk, {kBreak + 10 * kPage}, kBreak + 10 * kPage);
  EXPECT_EQ(committed(), 10 * kPage);
}

TEST_F(Tracker, RoundsTheProgramBreakUpToAWholePage) {
  call(SYS_brk, {kBreak + 100}, kBreak + 100);
  EXPECT_EQ(committed(), kPage);
}

// brk returns the break as it is, also when it could not move it.
TEST_F(Tracker, SeesNoChangeInAskingForTheBreakOrFailingToMoveIt) {
  call(SYS_brk, {0}, kBreak);
  call(SYS_brk, {kBreak + (uint64_t{1} << 46)}, kBreak);
  EXPECT_TRUE(changes_.empty());
  EXPECT_EQ(committed(), 0u);
}

TEST_F(Tracker, IgnoresCallsThatFailed) {
  map(kFailed, 4 * kPage);
  EXPECT_EQ(committed(), 0u);
  map(kAt, 4 * kPage);
  call(SYS_munmap, {kAt, 4 * kPage}, static_cast<uint64_t>(-22));
  call(SYS_mprotect, {kAt, 4 * kPage, PROT_NONE}, kFailed);
  remap(kAt, 4 * kPage, kFailed, 8 * kPage);
  EXPECT_EQ(committed(), 4 * kPage);
}

}  // namespace
}  // namespace heaptape::allocators
