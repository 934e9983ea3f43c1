// The writing end of a ring by itself: nobody reads, so every count is exact.
#include "recorder/interposer/producer.h"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <thread>

#include "recorder/interposer/hook_scope.h"
#include "tests/support/fake_session.h"
#include "tests/support/live_session.h"
#include "tests/support/ring_calls.h"

namespace heaptape::recorder {
namespace {

using tests::free_at;
using tests::in_a_thread;
using tests::kFreesInRing;
using tests::kFreesInSegment;
using tests::kMarkWords;
using tests::LiveSession;

// What `body` returns in a forked child.
int in_a_child(const std::function<int()>& body) {
  const pid_t child = fork();
  EXPECT_GE(child, 0);
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void take_all_rings(const LiveSession& session) {
  for (uint32_t i = 0; i < kRings; ++i) session.view().ring(i).lock.word = tests::kLivingOwner;
}

TEST(Producer, FillsTheRingToItsLastSegmentAndCountsTheRest) {
  const LiveSession session({Follow::kAll, OnFull::kDrop});
  in_a_thread([] {
    for (uint64_t i = 1; i <= kFreesInRing + 7; ++i) free_at(i);
  });
  const RingHeader& ring = session.view().ring(0);
  EXPECT_EQ(ring.lost_full, 7u);
  EXPECT_EQ(ring.stalls, 0u);
  EXPECT_EQ(ring.head, kRingWords);
}

TEST(Producer, CountsACallOnceThatHasNoRoomForItsStackEither) {
  const LiveSession session({Follow::kAll, OnFull::kDrop, 16, Unwinding::kFramePointers});
  in_a_thread([] {
    for (uint64_t i = 1; i <= kFreesInRing; ++i) free_at(i);
    const auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    record_allocation<false>(Op::kMalloc, nullptr, 1, 0, frame);
  });
  EXPECT_EQ(session.view().ring(0).lost_full, 1u);
}

TEST(Producer, GoesOnWhereItLeftOffOnceThereIsRoom) {
  const LiveSession session({Follow::kAll, OnFull::kDrop});
  RingHeader& ring = session.view().ring(0);
  in_a_thread([&ring] {
    for (uint64_t i = 1; i <= kFreesInRing + 7; ++i) free_at(i);
    ring.tail = kSegmentWords;
    for (uint64_t i = 0; i < kFreesInSegment; ++i) free_at(i);
    EXPECT_EQ(ring.lost_full, 7u);
    free_at(1);
  });
  EXPECT_EQ(ring.lost_full, 8u);
}

TEST(Producer, PublishesEveryRecordAtOnce) {
  const LiveSession session;
  in_a_thread([&session] {
    free_at(16);
    EXPECT_EQ(session.view().ring(0).head, kMarkWords + 1);
    record_allocation<true>(Op::kMemalign, nullptr, 1, 8, 0);
    EXPECT_EQ(session.view().ring(0).head, kMarkWords + 4);
  });
}

TEST(Producer, MarksTheTimeOncePerSegment) {
  if (kMarkWords == 0) GTEST_SKIP() << "no TSC to rely on";
  const LiveSession session;
  in_a_thread([] {
    for (uint64_t i = 0; i <= kFreesInSegment; ++i) free_at(16);
  });
  const uint64_t* const words = session.view().words(0);
  EXPECT_EQ(words[0] & kOpMask, kTimeMarkOp);
  EXPECT_EQ(words[kSegmentWords] & kOpMask, kTimeMarkOp);
  EXPECT_LT(words[0], words[kSegmentWords]);
  EXPECT_EQ(words[1], first_word(Op::kFree, 16, false));
}

TEST(Producer, SaysOnWhichProcessorItEntersASegment) {
  if (kMarkWords == 0) GTEST_SKIP() << "no TSC to rely on";
  const LiveSession session;
  const RingHeader& ring = session.view().ring(0);
  in_a_thread([&ring] {
    cpu_set_t all;
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    int left = 8;  // the ring has an end
    for (uint32_t processor = 0; processor < CPU_SETSIZE && left != 0; ++processor) {
      if (!CPU_ISSET(processor, &all)) continue;
      --left;
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(processor, &one);
      ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
      for (uint64_t i = 0; i < kFreesInSegment; ++i) free_at(16);
      EXPECT_EQ(ring.processor, processor + 1);
    }
  });
}

TEST(Producer, SaysWhichThreadHasARing) {
  const LiveSession session;
  in_a_thread([&session] {
    prctl(PR_SET_NAME, "painter");
    free_at(16);
    EXPECT_EQ(session.view().ring(0).thread_id, static_cast<uint32_t>(gettid()));
    EXPECT_STREQ(session.view().ring(0).thread_name, "painter");
  });
}

TEST(Producer, WakesTheCollectorForEveryThreadAfterTheFirst) {
  const LiveSession session;
  auto& sleep = session.view().lobby().collector_sleep;
  in_a_thread([&sleep] {
    sleep = CollectorSleep::kAsleep;
    free_at(16);
    EXPECT_EQ(sleep, CollectorSleep::kAsleep);
    in_a_thread([] { free_at(32); });
    EXPECT_EQ(sleep, CollectorSleep::kAwake);
  });
}

TEST(Producer, StampsFromTheSecondThreadOn) {
  const LiveSession session;
  in_a_thread([&session] {
    free_at(16);
    in_a_thread([] { free_at(32); });
    free_at(48);
    const uint64_t* first = session.view().words(0) + kMarkWords;
    const uint64_t* second = session.view().words(1);
    EXPECT_EQ(first[0] & kStampedFlag, 0u);
    EXPECT_EQ(second[0] & kStampedFlag, kStampedFlag);
    EXPECT_EQ(first[1] & kStampedFlag, kStampedFlag);
    EXPECT_LT(second[1], first[2]);
  });
}

TEST(Producer, GivesEachThreadARingThatNamesIt) {
  const LiveSession session;
  const RingHeader& ring = session.view().ring(0);
  in_a_thread([&ring] {
    free_at(16);
    EXPECT_EQ(ring.lock.word, static_cast<uint32_t>(gettid()));
  });
  EXPECT_EQ(ring.state, RingState::kOwned);
  EXPECT_EQ(ring.lock.word, FUTEX_OWNER_DIED);  // the thread has ended
  EXPECT_EQ(ring.process_slot, 0u);
  EXPECT_EQ(ring.process_serial, process.serial);
  EXPECT_EQ(session.view().ring(1).state, RingState::kFree);
}

TEST(Producer, WakesTheCollectorWhenARingIsHalfFull) {
  const LiveSession session;
  auto& sleep = session.view().lobby().collector_sleep;
  sleep = CollectorSleep::kAsleep;
  in_a_thread([&sleep] {
    for (uint64_t i = 0; i < kFreesInRing / 2 - kFreesInSegment; ++i) free_at(i);
    EXPECT_EQ(sleep, CollectorSleep::kAsleep);
    for (uint64_t i = 0; i < kFreesInSegment; ++i) free_at(i);
    EXPECT_EQ(sleep, CollectorSleep::kAwake);
  });
}

TEST(Producer, WakesAThreadThatSleepsOnTheSessionsFutex) {
  const LiveSession session;
  auto& sleep = session.view().lobby().collector_sleep;
  sleep = CollectorSleep::kAsleep;
  std::thread sleeper([&sleep] {
    while (sleep == CollectorSleep::kAsleep) {
      syscall(SYS_futex, &sleep, FUTEX_WAIT, CollectorSleep::kAsleep, nullptr, nullptr, 0);
    }
  });
  in_a_thread([] {
    for (uint64_t i = 0; i < kFreesInRing / 2; ++i) free_at(i);
  });
  sleeper.join();  // or hangs
}

TEST(Producer, StopsWhenTheSessionIsOver) {
  const LiveSession session;
  session.view().board().stopped = 1;
  in_a_thread([] {
    free_at(16);
    EXPECT_FALSE(process.recording);
  });
  EXPECT_EQ(session.view().ring(0).state, RingState::kFree);
  EXPECT_EQ(session.view().process(0).lost_ringless, 0u);
}

TEST(Producer, StopsWithinASegmentWhenTheSessionEnds) {
  const LiveSession session;
  in_a_thread([&session] {
    free_at(16);
    session.view().board().stopped = 1;
    for (uint64_t i = 0; i < kSegmentWords; ++i) free_at(i);
    EXPECT_FALSE(process.recording);
  });
  EXPECT_LT(session.view().ring(0).head, kSegmentWords);
}

// As the kernel does when the collector is killed. A full ring then waits for nobody.
TEST(Producer, StopsWhenTheCollectorDied) {
  const LiveSession session;
  in_a_thread([&session] {
    for (uint64_t i = 0; i < kFreesInRing; ++i) free_at(i);
    session.view().board().collector_lock_word |= FUTEX_OWNER_DIED;
    free_at(16);
    EXPECT_FALSE(process.recording);
  });
  session.view().board().collector_lock_word &= ~uint32_t{FUTEX_OWNER_DIED};
  EXPECT_EQ(session.view().ring(0).stalls, 0u);
}

TEST(Producer, CountsCallsThatFindNoRing) {
  const LiveSession session({Follow::kAll, OnFull::kDrop});
  take_all_rings(session);
  in_a_thread([&session] {
    for (int i = 0; i < 10; ++i) free_at(16);
    session.view().ring(9).lock.word = 0;
    for (int i = 0; i < 5000; ++i) free_at(16);
  });
  const uint64_t lost = session.view().process(0).lost_ringless;
  EXPECT_GE(lost, 10u);
  EXPECT_LT(lost, 5010u);
  EXPECT_GT(session.view().ring(9).head, 0u);
}

// Its parent's thread would have looked again after thousands of calls only.
TEST(Producer, LooksForARingAtOnceInAForkedChild) {
  const LiveSession session({Follow::kAll, OnFull::kDrop});
  take_all_rings(session);
  int status = -1;
  in_a_thread([&] {
    free_at(16);
    session.view().ring(9).lock.word = 0;
    status = in_a_child([] {
      free_at(16);
      return 0;
    });
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(session.view().process(0).lost_ringless, 1u);
  EXPECT_EQ(session.view().process(1).lost_ringless, 0u);
  EXPECT_EQ(session.view().ring(9).process_slot, 1u);
  EXPECT_EQ(session.view().ring(9).head, kMarkWords + 1);
}

TEST(Producer, FindsAFreeRingBelowWhereTheSearchBegins) {
  const LiveSession session({Follow::kAll, OnFull::kDrop});
  take_all_rings(session);
  session.view().ring(3).lock.word = 0;
  session.view().header().rings_taken.lowest_free = 9;
  in_a_thread([] { free_at(16); });
  EXPECT_GT(session.view().ring(3).head, 0u);
}

TEST(Producer, AsksForTheRingsOfDeadThreadsWhenThereIsNoOther) {
  const LiveSession session({Follow::kAll, OnFull::kBlock});
  take_all_rings(session);
  std::atomic<bool> over{false};
  std::thread thread([&over] {
    free_at(16);
    over = true;
  });
  while (session.view().lobby().ring_wanted == 0 && !over) std::this_thread::yield();
  session.view().ring(9).lock.word = 0;
  thread.join();
  EXPECT_EQ(session.view().lobby().ring_wanted, 1u);
  EXPECT_EQ(session.view().ring(9).head + session.view().process(0).lost_ringless, kMarkWords + 1);
}

TEST(Producer, TakesNoRingWhereNoSystemCallIsAllowed) {
  const LiveSession session;
  process.quiet = true;
  in_a_thread([] { free_at(16); });
  process.quiet = false;
  EXPECT_EQ(session.view().ring(0).state, RingState::kFree);
  EXPECT_EQ(session.view().process(0).lost_ringless, 1u);
}

TEST(Producer, WakesNobodyWhereNoSystemCallIsAllowed) {
  const LiveSession session;
  auto& sleep = session.view().lobby().collector_sleep;
  sleep = CollectorSleep::kAsleep;
  in_a_thread([] {
    free_at(16);
    process.quiet = true;
    for (uint64_t i = 0; i < kFreesInRing - kFreesInSegment; ++i) free_at(16);
  });
  process.quiet = false;
  EXPECT_EQ(sleep, CollectorSleep::kAsleep);
}

TEST(Producer, CountsAChildThatIsForkedWhereNoSystemCallIsAllowed) {
  const LiveSession session;
  process.quiet = true;
  in_a_child([] {
    free_at(16);
    return 0;
  });
  process.quiet = false;
  EXPECT_EQ(session.view().lobby().filtered, 1u);
}

// However many threads its parent had.
TEST(Producer, StampsInAForkedChildFromItsOwnSecondThreadOn) {
  const LiveSession session;
  for (int i = 0; i < 2; ++i) in_a_thread([] { free_at(16); });
  const int status = in_a_child([] {
    attach_thread(IfNoRing::kGiveUp);
    if (process.stamped()) return 1;
    attach_thread(IfNoRing::kGiveUp);
    return process.stamped() ? 0 : 2;
  });
  EXPECT_EQ(status, 0);
}

// As it does where a pid means nothing to it, once all threads are gone that it knows of.
TEST(Producer, JoinsAnewWhenTheCollectorTookItsProcessForDead) {
  const LiveSession session;
  session.view().process(0).state = SlotState::kEnding;
  in_a_thread([] { free_at(16); });
  EXPECT_EQ(session.view().process(1).state, SlotState::kRunning);
  EXPECT_EQ(session.view().process(1).parent_serial, session.view().process(0).serial);
  EXPECT_EQ(session.view().ring(0).process_slot, 1u);
  EXPECT_EQ(session.view().ring(0).process_serial, session.view().process(1).serial);
}

// The slot that it lost may have another process by then.
TEST(Producer, JoinsAnewWhenAnotherProcessHasItsSlot) {
  const LiveSession session;
  ProcessSlot& slot = session.view().process(0);
  const uint64_t lost = slot.serial;
  slot.serial = session.view().header().serials.fetch_add(1) + 1;
  in_a_thread([] { free_at(16); });
  EXPECT_EQ(session.view().process(1).state, SlotState::kRunning);
  EXPECT_EQ(session.view().process(1).parent_serial, lost);
  EXPECT_EQ(session.view().ring(0).process_slot, 1u);
  EXPECT_EQ(session.view().ring(0).process_serial, session.view().process(1).serial);
}

// In another pid namespace than the collector, it cannot find that out by itself.
TEST(Producer, JoinsAnewUnderThePidByWhichTheCollectorKnowsIt) {
  const LiveSession session;
  constexpr uint32_t kForeignPid = 77;
  in_a_thread([&session] {
    adopt_session(session.view(), kForeignPid, 0, {});
    session.view().process(1).state = SlotState::kEnding;
    free_at(16);
  });
  EXPECT_EQ(session.view().process(2).state, SlotState::kRunning);
  EXPECT_EQ(session.view().process(2).pid, kForeignPid);
}

// Others with that pool can write there.
TEST(Producer, TakesNoRingBeyondThoseOfItsPool) {
  const LiveSession session;
  session.view().header().rings_taken.lowest_free = UINT32_MAX - 1;
  in_a_thread([] { free_at(16); });
  EXPECT_LE(session.view().header().rings_taken.high_water, kRings);
}

TEST(Producer, CountsNestedAndBootstrapCalls) {
  const LiveSession session;
  add_nested_call();
  count_bootstrap_call();
  count_bootstrap_call();
  EXPECT_EQ(session.view().process(0).nested, 1u);
  EXPECT_EQ(session.view().process(0).bootstrap, 2u);
}

// One process takes a slot that nobody had, one that another left.
TEST(Producer, FindsNothingInTheSlotOfAnEarlierProcess) {
  const LiveSession session;
  std::string slots[2];
  ProcessSlot& left = session.view().process(2);
  std::memset(static_cast<void*>(&left), 0xff, sizeof left);
  left.lock.word = 0;
  left.state = SlotState::kFree;
  in_a_thread([&] {
    for (uint32_t i = 0; i < 2; ++i) {
      adopt_session(session.view(), static_cast<uint32_t>(getpid()), 0, {});
      ProcessSlot& slot = session.view().process(1 + i);
      slots[i] = std::string(reinterpret_cast<const char*>(&slot.state),  // up to its last field
                             reinterpret_cast<const char*>(&slot.allocator + 1));
      slots[i].replace(offsetof(ProcessSlot, serial) - offsetof(ProcessSlot, state), 4, 4, '.');
    }
  });
  EXPECT_EQ(slots[0], slots[1]);
}

TEST(Producer, IsTurnedAwayWhenAllSlotsAreTaken) {
  const auto memory = SessionMemory::create({});
  ASSERT_TRUE(memory.ok());
  const SessionView view = (*memory)->view();
  for (uint32_t i = 0; i < kRings; ++i) view.process(i).lock.word = tests::kLivingOwner;
  adopt_session(view, 1, 0, {});
  EXPECT_EQ(view.lobby().turned_away, 1u);
  EXPECT_FALSE(process.recording);
}

// As a jump out of realloc, by a signal handler, leaves a thread.
TEST(Producer, EndsTheResizeThatAJumpLeft) {
  const LiveSession session;
  in_a_thread([] {
    resize_begin_stamp(reinterpret_cast<const void*>(0x1000));
    thread_local_state.hook = 1;  // deeper than any stack
    EXPECT_FALSE(is_nested(stack_pointer()));
  });
  EXPECT_EQ(session.view().ring(0).resizing, 0u);
}

// Else the next malloc of that size would be taken for the one of that operator.
TEST(Producer, ForgetsTheOperatorNewThatAJumpLeft) {
  const LiveSession session;
  in_a_thread([] {
    ThreadLocal& local = thread_local_state;
    local.hint = {true, Op::kNew, 32, 0, 1};
    local.expected_free = &local;
    local.uses_arena = true;
    local.hook = 1;  // deeper than any stack
    EXPECT_FALSE(is_nested(stack_pointer()));
    EXPECT_FALSE(local.hint.pending);
    EXPECT_EQ(local.expected_free, nullptr);
    EXPECT_FALSE(local.uses_arena);
    EXPECT_EQ(local.hook, 0u);
  });
}

}  // namespace
}  // namespace heaptape::recorder
