// Processes in pools of their own, as the collector finds them there.
#include <gtest/gtest.h>
#include <unistd.h>

#include "recorder/collector/process_table.h"
#include "tests/support/fake_session.h"
#include "tests/support/pool_member.h"
#include "tests/support/temp_dir.h"

namespace heaptape::recorder {
namespace {

using schema::EndReason;
using tests::kDeadOwner;
using tests::kNoPid;
using tests::PoolMember;

SlotId first_slot_of(const Pool& pool) {
  return SlotId{pool.number()} << 32;
}

class PoolsOfProcesses : public testing::Test {
 protected:
  static uint32_t pid_here() { return static_cast<uint32_t>(getpid()); }
  RecordedProcess& process(SlotId slot) { return *table_.processes().at(slot); }
  RecordedProcess& process(const Pool& pool) { return process(first_slot_of(pool)); }
  bool has_process(const Pool& pool) const {
    return table_.processes().contains(first_slot_of(pool));
  }
  void adopt(const PoolMember& member, uint32_t pid, uint32_t flags = 0) {
    member.join(pid, flags);
    member.claim();
    table_.adopt_claims();
  }
  // How many calls its rings held.
  static uint64_t drain(RecordedProcess& process) {
    return process.merge().drain(RingMerge::kEverything, uint64_t{1} << 62);
  }

  tests::FakeSession session_;
  tests::TempDir dir_;
  std::unique_ptr<HandshakeServer> handshakes_ = std::move(*HandshakeServer::open());
  Backlog backlog_;
  Pools& pools_ = session_.pools();
  ProcessTable table_{backlog_, pools_, *handshakes_, dir_.file("run.tape")};
};

TEST_F(PoolsOfProcesses, AreAllLookedThrough) {
  const auto pool = pools_.make_own(pid_here());
  const PoolMember member(session_.view(), *pool);
  session_.join(0, kNoPid);
  member.log();
  adopt(member, pid_here());
  ASSERT_EQ(table_.processes().size(), 2u);
  EXPECT_EQ(drain(process(*pool)), 1u);
  table_.end(first_slot_of(*pool), EndReason::kExited, 0);
  table_.adopt_claims();
  EXPECT_EQ(pools_.mapped().size(), 1u);
}

// Only a program that joined when it was executed can have this one, and the recorder knows its
// pid.
TEST_F(PoolsOfProcesses, SayWhoOneIsThatSaysItIsAnother) {
  session_.join(0, kNoPid);
  const auto pool = pools_.make_own(pid_here());
  const PoolMember member(session_.view(), *pool);
  adopt(member, kNoPid);
  ASSERT_EQ(table_.processes().size(), 2u);
  EXPECT_TRUE(process(*pool).is(pid_here()));
  EXPECT_TRUE(process(0).is(kNoPid));
}

TEST_F(PoolsOfProcesses, SayThatOneWasForkedThatSaysItWasExecuted) {
  session_.join(0, kNoPid);
  const auto pool = pools_.make_spares(1)[0];
  const PoolMember member(session_.view(), *pool);
  adopt(member, kNoPid);
  EXPECT_TRUE(table_.processes().contains(0));  // not replaced
  EXPECT_TRUE(has_process(*pool));
}

// The other's pid is from the kernel.
TEST_F(PoolsOfProcesses, SayThatAForkedOneIsNotTheProgramThatItSaysItIs) {
  const auto own = pools_.make_own(pid_here());
  const auto spare = pools_.make_spares(1)[0];
  const PoolMember hostile(session_.view(), *spare);
  const PoolMember program(session_.view(), *own);
  adopt(hostile, pid_here(), kSlotForked);
  adopt(program, pid_here());
  EXPECT_EQ(table_.find_pid(pid_here()), &process(*own));
}

TEST_F(PoolsOfProcesses, LeaveThePidToWhoHasItWhileThatLives) {
  session_.join(0, pid_here());
  table_.adopt_claims();
  const auto pool = pools_.make_spares(1)[0];
  const PoolMember hostile(session_.view(), *pool);
  adopt(hostile, pid_here(), kSlotForked);
  EXPECT_EQ(table_.processes().size(), 2u);
  EXPECT_EQ(table_.find_pid(pid_here()), &process(0));
}

// The later pool came with the program that it executed.
TEST_F(PoolsOfProcesses, GiveThePidToTheLaterOfTwoProgramsThatTheKernelNamed) {
  const auto first = pools_.make_own(pid_here());
  const auto second = pools_.make_own(pid_here());
  const PoolMember before(session_.view(), *first);
  const PoolMember after(session_.view(), *second);
  adopt(after, pid_here());
  adopt(before, pid_here());
  EXPECT_EQ(table_.find_pid(pid_here()), &process(*second));
}

// musl replaces the list of locks that the kernel knows, so the lock is not marked.
TEST_F(PoolsOfProcesses, ShowThatAProgramExecutedAnotherThoughItsLockLives) {
  const auto first = pools_.make_own(pid_here());
  const auto second = pools_.make_own(pid_here());
  const PoolMember before(session_.view(), *first);
  const PoolMember after(session_.view(), *second);
  adopt(before, pid_here());
  adopt(after, pid_here());
  EXPECT_FALSE(has_process(*first));
  EXPECT_TRUE(has_process(*second));
}

TEST_F(PoolsOfProcesses, SayThatARingWasTakenThoughTheLobbyDoesNot) {
  const auto pool = pools_.make_own(pid_here());
  const PoolMember member(session_.view(), *pool);
  adopt(member, pid_here());
  member.log();
  member.claim_silently();
  table_.adopt_claims();
  EXPECT_EQ(drain(process(*pool)), 1u);
}

TEST_F(PoolsOfProcesses, HaveNobodyWithASerialOfAnotherPool) {
  session_.join(0, pid_here());
  const auto pool = pools_.make_spares(1)[0];
  const PoolMember member(session_.view(), *pool);
  member.join(kNoPid, kSlotForked).serial = 1;
  member.log().process_serial = 1;
  member.claim();
  table_.adopt_claims();
  EXPECT_EQ(table_.processes().size(), 1u);
  EXPECT_EQ(drain(process(0)), 0u);
}

TEST_F(PoolsOfProcesses, AreFreeOfAProcessThatEnded) {
  const auto pool = pools_.make_own(pid_here());
  const PoolMember member(session_.view(), *pool);
  ProcessSlot& slot = member.join(pid_here());
  member.log();
  member.claim();
  table_.adopt_claims();
  table_.end(first_slot_of(*pool), EndReason::kExited, 0);
  EXPECT_EQ(slot.state, SlotState::kFree);
  EXPECT_EQ(owner_state(slot.lock), OwnerState::kNone);
}

// Their owners died before they were ready.
TEST_F(PoolsOfProcesses, AreFreeOfWhatTheDeadLeft) {
  const auto pool = pools_.make_own(pid_here());
  const PoolMember member(session_.view(), *pool);
  adopt(member, pid_here());
  PoolPart& left = member.view().part(1);
  left.slot.lock.word = kDeadOwner;
  left.ring.lock.word = kDeadOwner;
  member.view().header().slots_taken.high_water = 2;
  member.view().header().rings_taken.high_water = 2;
  table_.free_what_the_dead_left();
  EXPECT_EQ(owner_state(left.slot.lock), OwnerState::kNone);
  EXPECT_EQ(owner_state(left.ring.lock), OwnerState::kNone);
}

}  // namespace
}  // namespace heaptape::recorder
