// The writing end of a ring whose reader is late: for whom it waits, and how long.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "recorder/interposer/patience.h"
#include "recorder/interposer/producer.h"
#include "tests/support/live_session.h"
#include "tests/support/ring_calls.h"

namespace heaptape::recorder {
namespace {

using tests::free_at;
using tests::in_a_thread;
using tests::kFreesInRing;
using tests::kFreesInSegment;
using tests::LiveSession;

// Nobody drains in these.
void fill_ring() {
  for (uint64_t i = 1; i <= kFreesInRing; ++i) free_at(i);
}

void overfill_ring(int calls) {
  fill_ring();
  for (int i = 0; i < calls; ++i) free_at(16);
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
    overfill_ring(9);
    EXPECT_EQ(ring.stalls, 1u);
  });
  EXPECT_EQ(ring.lost_stopped, 9u);
  EXPECT_GE(ring.stall_ns, kPatienceMs * 1'000'000u);
}

TEST(WaitingProducer, SparesTheNextThreadAWaitInVain) {
  const LiveSession session;
  for (int i = 0; i < 2; ++i) {
    in_a_thread([] { overfill_ring(1); });
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
  std::thread producer([] { overfill_ring(1); });
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
  in_a_thread([] { overfill_ring(9); });
  EXPECT_EQ(ring.stalls, 1u);
  EXPECT_EQ(ring.lost_stopped, 9u);
  EXPECT_GE(ring.stall_ns, kLongPatienceMs * 1'000'000u);
}

TEST(WaitingProducer, WaitsAsLongAsTheRecorderIsBusy) {
  const LiveSession session;
  RingHeader& ring = session.view().ring(0);
  std::thread producer([] { overfill_ring(1); });
  while (ring.producer_waits == 0) std::this_thread::yield();
  for (uint32_t ms = 0; ms < 3 * kPatienceMs; ms += 5) {
    session.view().board().progress++;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ring.tail = kRingWords;
  producer.join();
  EXPECT_EQ(ring.lost_stopped + ring.lost_full, 0u);
}

TEST(WaitingProducer, WaitsAgainWhenTheRecorderMadeProgress) {
  const LiveSession session;
  for (int i = 0; i < 2; ++i) {
    in_a_thread([] { overfill_ring(1); });
    session.view().board().progress++;
  }
  EXPECT_EQ(session.view().ring(1).stalls, 1u);
}

TEST(WaitingProducer, WaitsAgainWhenThereWasRoom) {
  const LiveSession session;
  RingHeader& ring = session.view().ring(0);
  in_a_thread([&] {
    overfill_ring(1);
    ring.tail = kRingWords;
    session.view().board().progress++;
    overfill_ring(1);
  });
  EXPECT_EQ(ring.stalls, 2u);
}

// The recorder takes pages from the ring: a thread that enters a segment meanwhile may have entered
// one of them. It waits, whatever it does when the ring is full.
TEST(WaitingProducer, EntersNoSegmentWhileItsRingIsClosed) {
  for (const OnFull on_full : {OnFull::kBlock, OnFull::kDrop}) {
    const LiveSession session({Follow::kAll, on_full});
    const BusyRecorder recorder;
    RingHeader& ring = session.view().ring(0);
    std::thread producer([&] {
      for (uint64_t i = 0; i < kFreesInSegment; ++i) free_at(16);
      EXPECT_EQ(ring.entered, kSegmentWords);
      ring.closed = 1;
      free_at(16);
    });
    for (int ms = 0; ms < 10'000 && ring.producer_waits == 0; ++ms) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(ring.producer_waits, 1u);
    EXPECT_EQ(ring.entered, 2 * kSegmentWords) << "which tells the recorder";
    EXPECT_EQ(ring.head, kSegmentWords);
    ring.closed = 0;
    producer.join();
    EXPECT_GT(ring.head, kSegmentWords);
    EXPECT_EQ(ring.lost_stopped + ring.lost_full, 0u);
  }
}

TEST(WaitingProducer, GivesUpOnARecorderThatIsStoppedWhileTheRingIsClosed) {
  const LiveSession session;
  RingHeader& ring = session.view().ring(0);
  in_a_thread([&ring] {
    for (uint64_t i = 0; i < kFreesInSegment; ++i) free_at(16);
    ring.closed = 1;
    for (int i = 0; i < 3; ++i) free_at(16);
    ring.closed = 0;
    free_at(16);
  });
  EXPECT_EQ(ring.stalls, 0u) << "the ring was not full";
  EXPECT_EQ(ring.lost_stopped, 3u);
}

// Another process of the session closed it, say.
TEST(WaitingProducer, GivesUpOnARingThatStaysClosedHoweverBusyTheRecorderIs) {
  const LiveSession session;
  std::atomic<bool> over{false};
  std::thread collector([&] {
    while (!over) {
      session.view().board().progress++;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  RingHeader& ring = session.view().ring(0);
  in_a_thread([&ring] {
    for (uint64_t i = 0; i < kFreesInSegment; ++i) free_at(16);
    ring.closed = 1;
    for (int i = 0; i < 3; ++i) free_at(16);
  });
  over = true;
  collector.join();
  EXPECT_EQ(ring.lost_stopped, 3u);
}

TEST(WaitingProducer, GivesUpWhenItsTapeIsBehindHoweverBusyTheRecorderIs) {
  const LiveSession session;
  std::atomic<bool> over{false};
  std::thread collector([&] {
    while (!over) {
      session.view().board().progress++;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  session.view().process(0).behind = 1;
  in_a_thread([] { overfill_ring(1); });
  over = true;
  collector.join();
  EXPECT_EQ(session.view().ring(0).lost_full, 1u);
}

// Before Linux 5.1 any other process of the session can write there.
TEST(WaitingProducer, GivesUpWhateverTheSessionSaysOfTheClock) {
  const LiveSession session;
  session.view().board().ticks_per_ms = 1;
  in_a_thread([] { overfill_ring(1); });
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
  session.view().board().ticks_per_ms = 0;
  overfill_a_ring_quietly(kRingWords);  // without marks, it holds more
  EXPECT_EQ(session.view().ring(0).stalls, 0u);
  EXPECT_GT(session.view().ring(0).lost_stopped, 0u);
}

}  // namespace
}  // namespace heaptape::recorder
