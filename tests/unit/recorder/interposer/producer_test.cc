// The writing end of a ring by itself: nobody reads, so every count is exact.
#include "recorder/interposer/producer.h"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "recorder/interposer/hook_scope.h"
#include "tests/support/fake_session.h"
#include "tests/support/live_session.h"

namespace heaptape::recorder {
namespace {

using tests::LiveSession;

void free_at(uint64_t address) {
  record_release(Op::kFree, reinterpret_cast<const void*>(address));
}

// Calls of one word each. The first word of a segment is the time, where the session has the TSC;
// the last words stay empty.
const uint64_t kMarkWords = choose_clock() == Clock::kTsc ? 1 : 0;
const uint64_t kFreesInSegment = kSegmentWords - kMaxRecordWords + 1 - kMarkWords;
const uint64_t kFreesInRing = kRingWords / kSegmentWords * kFreesInSegment;

void in_a_thread(const std::function<void()>& body) {
  std::thread(body).join();
}

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
  auto& sleep = session.view().header().collector_sleep;
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
  auto& sleep = session.view().header().collector_sleep;
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
  auto& sleep = session.view().header().collector_sleep;
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
  session.view().header().stopped = 1;
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
    session.view().header().stopped = 1;
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
    session.view().header().collector_lock_word |= FUTEX_OWNER_DIED;
    free_at(16);
    EXPECT_FALSE(process.recording);
  });
  session.view().header().collector_lock_word &= ~uint32_t{FUTEX_OWNER_DIED};
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
  while (session.view().header().ring_wanted == 0 && !over) std::this_thread::yield();
  session.view().ring(9).lock.word = 0;
  thread.join();
  EXPECT_EQ(session.view().header().ring_wanted, 1u);
  EXPECT_EQ(session.view().ring(9).head + session.view().process(0).lost_ringless, kMarkWords + 1);
}

// Nobody drains in these.
void fill_ring() {
  for (uint64_t i = 1; i <= kFreesInRing; ++i) free_at(i);
}

// In a thread that has its ring before system calls are forbidden.
void overfill_a_ring_quietly(uint64_t calls) {
  in_a_thread([calls] {
    free_at(16);
    process.quiet = true;
    for (uint64_t i = 0; i < calls; ++i) free_at(16);
  });
  process.quiet = false;
}

TEST(WaitingProducer, GivesUpWhenTheRecorderMakesNoProgress) {
  const LiveSession session;
  const RingHeader& ring = session.view().ring(0);
  in_a_thread([&ring] {
    fill_ring();
    for (int i = 0; i < 9; ++i) free_at(16);
    EXPECT_EQ(ring.stalls, 1u);
  });
  EXPECT_EQ(ring.lost_stopped, 9u);
  EXPECT_GE(ring.stall_ns, kPatienceMs * 1'000'000u);
}

TEST(WaitingProducer, SparesTheNextThreadAWaitInVain) {
  const LiveSession session;
  for (int i = 0; i < 2; ++i) {
    in_a_thread([] {
      fill_ring();
      free_at(16);
    });
  }
  EXPECT_EQ(session.view().ring(0).stalls, 1u);
  EXPECT_EQ(session.view().ring(1).stalls, 0u);
  EXPECT_GT(session.view().ring(1).lost_stopped, 0u);
}

// As if this process were the recorder, and got no processor.
class BusyRecorder {
 public:
  BusyRecorder() { process.recorder = static_cast<uint32_t>(getpid()); }
  ~BusyRecorder() { process.recorder = 0; }
};

TEST(WaitingProducer, WaitsLongerForARecorderThatIsNotStopped) {
  const LiveSession session;
  const BusyRecorder recorder;
  RingHeader& ring = session.view().ring(0);
  std::thread producer([] {
    fill_ring();
    free_at(16);
  });
  while (ring.producer_waits == 0) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(3 * kPatienceMs));
  ring.tail = kRingWords;
  producer.join();
  EXPECT_EQ(ring.lost_stopped + ring.lost_full, 0u);
  EXPECT_GE(ring.stall_ns, 3 * kPatienceMs * 1'000'000u);
}

TEST(WaitingProducer, GivesUpOnARecorderThatIsNotStoppedButMakesNoProgress) {
  const LiveSession session;
  const BusyRecorder recorder;
  const RingHeader& ring = session.view().ring(0);
  in_a_thread([] {
    fill_ring();
    for (int i = 0; i < 9; ++i) free_at(16);
  });
  EXPECT_EQ(ring.stalls, 1u);
  EXPECT_EQ(ring.lost_stopped, 9u);
  EXPECT_GE(ring.stall_ns, kLongPatienceMs * 1'000'000u);
}

TEST(WaitingProducer, WaitsAsLongAsTheRecorderIsBusy) {
  const LiveSession session;
  RingHeader& ring = session.view().ring(0);
  std::thread producer([] {
    fill_ring();
    free_at(16);
  });
  while (ring.producer_waits == 0) std::this_thread::yield();
  for (uint32_t ms = 0; ms < 3 * kPatienceMs; ms += 5) {
    session.view().header().progress++;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ring.tail = kRingWords;
  producer.join();
  EXPECT_EQ(ring.lost_stopped + ring.lost_full, 0u);
}

TEST(WaitingProducer, WaitsAgainWhenTheRecorderMadeProgress) {
  const LiveSession session;
  for (int i = 0; i < 2; ++i) {
    in_a_thread([] {
      fill_ring();
      free_at(16);
    });
    session.view().header().progress++;
  }
  EXPECT_EQ(session.view().ring(1).stalls, 1u);
}

TEST(WaitingProducer, WaitsAgainWhenThereWasRoom) {
  const LiveSession session;
  RingHeader& ring = session.view().ring(0);
  in_a_thread([&] {
    fill_ring();
    free_at(16);
    ring.tail = kRingWords;
    session.view().header().progress++;
    fill_ring();
    free_at(16);
  });
  EXPECT_EQ(ring.stalls, 2u);
}

TEST(WaitingProducer, GivesUpWhenItsTapeIsBehindHoweverBusyTheRecorderIs) {
  const LiveSession session;
  std::atomic<bool> over{false};
  std::thread collector([&] {
    while (!over) {
      session.view().header().progress++;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  session.view().process(0).behind = 1;
  in_a_thread([] {
    fill_ring();
    free_at(16);
  });
  over = true;
  collector.join();
  EXPECT_EQ(session.view().ring(0).lost_full, 1u);
}

// Any other process of the session can write there.
TEST(WaitingProducer, GivesUpWhateverTheSessionSaysOfTheClock) {
  const LiveSession session;
  session.view().header().ticks_per_ms = 1;
  in_a_thread([] {
    fill_ring();
    free_at(16);
  });
  EXPECT_EQ(session.view().ring(0).lost_stopped, 1u);
}

TEST(WaitingProducer, GivesUpWithoutASystemCallWhereNoneIsAllowed) {
  const LiveSession session;
  const RingHeader& ring = session.view().ring(0);
  overfill_a_ring_quietly(kFreesInRing + 1);
  EXPECT_EQ(ring.producer_waits, 0u);
  EXPECT_EQ(ring.stalls, 1u);
  EXPECT_GT(ring.lost_stopped, 0u);
}

// Only a system call would tell it the time.
TEST(WaitingProducer, WaitsForNothingWhereNeitherSystemCallsNorTheTscServe) {
  const LiveSession session({}, Clock::kCounter);
  session.view().header().ticks_per_ms = 0;
  overfill_a_ring_quietly(kRingWords);  // without marks, it holds more
  EXPECT_EQ(session.view().ring(0).stalls, 0u);
  EXPECT_GT(session.view().ring(0).lost_stopped, 0u);
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
  auto& sleep = session.view().header().collector_sleep;
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
  EXPECT_EQ(session.view().header().filtered, 1u);
}

// However many threads its parent had.
TEST(Producer, StampsInAForkedChildFromItsOwnSecondThreadOn) {
  const LiveSession session;
  for (int i = 0; i < 2; ++i) in_a_thread([] { free_at(16); });
  const int status = in_a_child([] {
    attach_thread(IfNoRing::kGiveUp);
    if (process.stamped) return 1;
    attach_thread(IfNoRing::kGiveUp);
    return process.stamped ? 0 : 2;
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

// Any other process of the session can write there.
TEST(Producer, TakesNoRingBeyondThoseOfTheLayout) {
  const LiveSession session;
  session.view().header().rings = UINT32_MAX;
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

TEST(Producer, IsTurnedAwayWhenAllSlotsAreTaken) {
  const auto memory = SessionMemory::create({});
  ASSERT_TRUE(memory.ok());
  const SessionView view = (*memory)->view();
  for (uint32_t i = 0; i < kProcessSlots; ++i) view.process(i).lock.word = tests::kLivingOwner;
  adopt_session(view, 1, 0, {});
  EXPECT_EQ(view.header().turned_away, 1u);
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

}  // namespace
}  // namespace heaptape::recorder
