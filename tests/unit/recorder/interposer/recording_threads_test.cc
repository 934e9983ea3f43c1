// Both ends of the rings on real threads: what the producers logged comes out of the collector,
// each call once, each thread's in its order, and in an order of all that an allocator could have
// made. Run under ThreadSanitizer by `./dev test`. Over 300 lines, because its allocator and
// its check of an order serve all tests.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "base/address/pages.h"
#include "base/clock.h"
#include "recorder/collector/ring_cursor.h"
#include "recorder/interposer/producer.h"
#include "tests/support/command.h"
#include "tests/support/fake_session.h"
#include "tests/support/live_session.h"

namespace heaptape::recorder {
namespace {

using schema::Event;
using tests::in_threads;
using tests::LiveSession;
using tests::Taped;

const void* block_at(uint64_t address) {
  return reinterpret_cast<const void*>(address);
}

void record_free(uint64_t address) {
  record_release(Op::kFree, block_at(address));
}

// The number of calls of every thread that counts its calls, from 1, in what it frees.
void expect_rising(const Taped& taped) {
  std::vector<uint64_t> last(taped.summary.threads, 0);
  for (const Event& event : taped.events) {
    ASSERT_GT(event.freed_address, last[event.thread]);
    last[event.thread] = event.freed_address;
  }
}

void expect_complete(const Taped& taped, uint64_t calls) {
  EXPECT_EQ(taped.summary.events, taped.events.size());
  EXPECT_EQ(taped.events.size() + taped.summary.losses.lost_events, calls);
}

class RecordingThreadsTest : public testing::TestWithParam<Clock> {
 protected:
  void SetUp() override {
    if (GetParam() == Clock::kTsc && choose_clock() != Clock::kTsc) {
      GTEST_SKIP() << "no TSC to rely on";
    }
  }
};

// More calls than the collector writes between two looks at the program.
TEST_P(RecordingThreadsTest, LeaveARestOfWhichTheShareIsTold) {
  constexpr uint64_t kCalls = 60'000;
  LiveSession session({}, GetParam());
  std::vector<double> shares;
  const Taped taped = session.collect_when_over(
      [] {
        in_threads(1, [](uint32_t) {
          for (uint64_t call = 1; call <= kCalls; ++call) record_free(call);
        });
      },
      [&shares](double share) { shares.push_back(share); });
  expect_complete(taped, kCalls);
  ASSERT_FALSE(shares.empty());
  EXPECT_TRUE(std::ranges::is_sorted(shares));
  EXPECT_GE(shares.front(), 0);
  EXPECT_LE(shares.back(), 1);
  EXPECT_GT(shares.back(), shares.front());
}
INSTANTIATE_TEST_SUITE_P(Clocks, RecordingThreadsTest,
                         testing::Values(Clock::kTsc, Clock::kCounter), [](const auto& clock) {
                           return clock.param == Clock::kTsc ? "Tsc" : "Counter";
                         });

TEST_P(RecordingThreadsTest, OneThreadsCallsComeAsTheyWere) {
  LiveSession session({}, GetParam());
  constexpr uint64_t kCalls = 100'000;
  const Taped taped = session.collect([] {
    for (uint64_t i = 1; i <= kCalls; ++i) record_free(i);
  });
  expect_rising(taped);
  expect_complete(taped, kCalls);
  EXPECT_EQ(taped.summary.threads, 1u);
}

TEST_P(RecordingThreadsTest, EveryThreadsCallsComeAsTheyWere) {
  LiveSession session({}, GetParam());
  constexpr uint64_t kCalls = 30'000;
  const Taped taped = session.collect([] {
    in_threads(4, [](uint32_t) {
      for (uint64_t i = 1; i <= kCalls; ++i) record_free(i);
    });
  });
  expect_rising(taped);
  expect_complete(taped, 4 * kCalls);
  EXPECT_EQ(taped.summary.threads, 4u);
}

TEST_P(RecordingThreadsTest, EveryWordOfARecordComesWhole) {
  LiveSession session({}, GetParam());
  constexpr uint64_t kCalls = 20'000;
  const Taped taped = session.collect([] {
    in_threads(3, [](uint32_t thread) {
      for (uint64_t i = 1; i <= kCalls; ++i) {
        const void* block = block_at(i << 12 | thread << 4);
        record_allocation<true>(Op::kMemalign, block, i, i, 0);
        record_resize(Op::kRealloc, block, i, block, resize_begin_stamp(block), 0);
      }
    });
  });
  expect_complete(taped, 3 * 2 * kCalls);
  for (const Event& event : taped.events) {
    ASSERT_EQ(event.address >> 12, event.size);
    ASSERT_EQ(event.alignment, event.op == Op::kMemalign ? event.size : 0);
    ASSERT_EQ(event.freed_address, event.op == Op::kMemalign ? 0 : event.address);
  }
}

TEST_P(RecordingThreadsTest, BeginWithAResize) {
  LiveSession session({}, GetParam());
  const Taped taped = session.collect([] {
    in_threads(1, [](uint32_t) { record_free(1 << 12); });
    in_threads(1, [](uint32_t) {
      const void* block = block_at(2 << 12);
      record_resize(Op::kRealloc, block, 16, block, resize_begin_stamp(block), 0);
    });
  });
  expect_complete(taped, 2);
}

// An allocator of few blocks, which come back soon to whoever asks, and the threads that use it as
// the hooks do: releases are logged before the call, the rest after.
class SharedHeap {
 public:
  SharedHeap() {
    for (uint64_t i = 1; i <= kBlocks; ++i) free_.push_back(i << 20);
  }

  uint64_t calls() const { return calls_; }

  void use(uint32_t thread, bool with_resizes) {
    tests::Random random(thread);
    for (int i = 0; i < 20'000; ++i) {
      if (random.chance(2)) {
        allocate();
      } else if (with_resizes && random.chance(2)) {
        resize();
      } else {
        release();
      }
    }
  }

 private:
  static constexpr uint64_t kBlocks = 64;

  static uint64_t take(std::vector<uint64_t>& from) {
    if (from.empty()) return 0;
    const uint64_t block = from.back();
    from.pop_back();
    return block;
  }
  uint64_t take_locked(std::vector<uint64_t>& from) {
    const std::lock_guard lock(mutex_);
    return take(from);
  }
  void give(std::vector<uint64_t>& to, uint64_t block) {
    const std::lock_guard lock(mutex_);
    to.push_back(block);
  }

  void allocate() {
    const uint64_t block = take_locked(free_);
    record_allocation<false>(Op::kMalloc, block_at(block), 16, 0, 0);
    ++calls_;
    if (block != 0) give(live_, block);
  }
  void release() {
    const uint64_t block = take_locked(live_);
    record_release(Op::kFree, block_at(block));
    ++calls_;
    if (block != 0) give(free_, block);
  }
  void resize() {
    const uint64_t old_block = take_locked(live_);
    if (old_block == 0) return;
    const uint64_t begin_stamp = resize_begin_stamp(block_at(old_block));
    const uint64_t block = exchange(old_block);
    record_resize(Op::kRealloc, block_at(old_block), 32, block_at(block), begin_stamp, 0);
    ++calls_;
    give(live_, block != 0 ? block : old_block);
  }
  // Another block for this one, which somebody else may have before the caller returns; 0: none.
  uint64_t exchange(uint64_t old_block) {
    const std::lock_guard lock(mutex_);
    const uint64_t block = take(free_);
    if (block != 0) free_.push_back(old_block);
    return block;
  }

  std::mutex mutex_;
  std::vector<uint64_t> free_;
  std::vector<uint64_t> live_;
  std::atomic<uint64_t> calls_{0};
};

// What is wrong with the tape as a history of one heap.
struct Contradictions {
  uint64_t handed_out_alive = 0;
  uint64_t given_up_unknown = 0;
};

Contradictions contradictions_of(const std::vector<Event>& events) {
  Contradictions found;
  std::set<uint64_t> live;
  for (const Event& event : events) {
    const bool gives_up = event.freed_address != 0 && !is_failed(event);
    if (event.address != 0 && live.contains(event.address)) ++found.handed_out_alive;
    if (gives_up && live.erase(event.freed_address) == 0) ++found.given_up_unknown;
    if (event.address != 0) live.insert(event.address);
  }
  return found;
}

TEST_P(RecordingThreadsTest, BlocksAreHandedOverInOrder) {
  LiveSession session({}, GetParam());
  SharedHeap heap;
  const Taped taped = session.collect(
      [&heap] { in_threads(4, [&heap](uint32_t thread) { heap.use(thread, false); }); });
  expect_complete(taped, heap.calls());
  const Contradictions found = contradictions_of(taped.events);
  EXPECT_EQ(found.handed_out_alive, taped.summary.losses.unrepaired_inversions);
  EXPECT_EQ(found.given_up_unknown, taped.summary.unknown_frees);
  // On a machine so busy that the collector stood still, calls may be lost.
  if (taped.summary.losses.lost_events == 0) {
    EXPECT_EQ(found.handed_out_alive + found.given_up_unknown, 0u);
  }
}

// A thread that stands still in the middle of a resize for longer than the merge has patience is
// counted; a loaded machine may do that to us.
TEST_P(RecordingThreadsTest, ResizedBlocksAreHandedOverInOrder) {
  LiveSession session({}, GetParam());
  SharedHeap heap;
  const Taped taped = session.collect(
      [&heap] { in_threads(4, [&heap](uint32_t thread) { heap.use(thread, true); }); });
  expect_complete(taped, heap.calls());
  const Contradictions found = contradictions_of(taped.events);
  EXPECT_EQ(found.handed_out_alive, taped.summary.losses.unrepaired_inversions);
  EXPECT_EQ(found.given_up_unknown, taped.summary.unknown_frees);
  if (taped.summary.losses.unrepaired_inversions == 0) {
    EXPECT_EQ(found.given_up_unknown, 0u);
  }
}

TEST(RecordingThreads, WaitForRoomAndLoseNothing) {
  LiveSession session({Follow::kAll, OnFull::kBlock});
  constexpr uint64_t kCalls = 4 * kRingWords;
  std::thread producer([] {
    for (uint64_t i = 1; i <= kCalls; ++i) record_free(i);
  });
  while (session.view().ring(0).producer_waits == 0) std::this_thread::yield();
  const Taped taped = session.collect([&producer] { producer.join(); });
  EXPECT_GE(taped.summary.stalls, 1u);
  expect_rising(taped);
  expect_complete(taped, kCalls);
}

// A reader that takes pages from the ring whenever it has read all, and a thread that may go on at
// any moment.
TEST(RecordingThreads, LoseNothingUncountedWhenTheirRingLosesItsPages) {
  const LiveSession session;
  constexpr uint64_t kLeastCalls = 40 * kRingWords;
  constexpr uint64_t kMostCalls = 50 * kLeastCalls;
  constexpr uint64_t kLeastTrims = 10;
  uint64_t calls = 0;
  std::atomic<uint64_t> trims{0};
  std::atomic<bool> is_over{false};
  std::thread producer([&calls, &trims, &is_over] {
    for (uint64_t i = 1; i <= kLeastCalls || (trims < kLeastTrims && i < kMostCalls); ++i) {
      record_free(i);
      calls = i;
      // Behind five segments and a bit: the reader may have read all.
      if (i % (5 * kSegmentWords + 1) == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    }
    is_over = true;
  });
  while (session.view().ring(0).state != RingState::kOwned) std::this_thread::yield();
  Backlog backlog;
  RingCursor cursor(backlog, session.view(), 0, 0, nullptr);
  uint64_t last = 0;
  uint64_t seen = 0;
  uint64_t wrong = 0;
  uint64_t now_ns = 0;
  for (bool was_over = false; !was_over;) {
    was_over = is_over;
    tests::copy_and_show(backlog, cursor);
    while (const LoggedCall* call = cursor.peek()) {
      wrong += call->event.freed_address <= last ? 1 : 0;
      last = call->event.freed_address;
      ++seen;
      cursor.pop();
    }
    cursor.release();
    for (int i = 0; i < 2; ++i) {
      trims += cursor.trim_if_idle(now_ns += 2000 * base::kMillisecondNs) ? 1 : 0;
    }
  }
  producer.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_GE(trims, kLeastTrims);
  // On a loaded machine this reader may pause for longer than its writer waits.
  const RingHeader& ring = session.view().ring(0);
  EXPECT_EQ(seen + ring.lost_full + ring.lost_stopped, calls);
}

TEST(RecordingThreads, KeepOnePageOfTheirRingWhileIdle) {
  LiveSession session;
  size_t pages_when_busy = 0;
  size_t pages_when_idle = 0;
  const auto pages = [&session] {
    std::vector<unsigned char> resident(kRingBytes / base::kPageBytes);
    EXPECT_EQ(mincore(session.view().words(0), kRingBytes, resident.data()), 0);
    return static_cast<size_t>(
        std::ranges::count_if(resident, [](unsigned char page) { return (page & 1) != 0; }));
  };
  const Taped taped = session.collect([&] {
    for (uint64_t i = 1; i <= kRingWords / 2; ++i) record_free(i);
    pages_when_busy = pages();
    for (int i = 0; i < 100 && pages_when_idle != 1; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      pages_when_idle = pages();
    }
    for (uint64_t i = 1; i <= kRingWords / 2; ++i) record_free(kRingWords / 2 + i);
  });
  EXPECT_GE(pages_when_busy, kRingBytes / base::kPageBytes / 2);
  EXPECT_EQ(pages_when_idle, 1u);
  expect_rising(taped);
  expect_complete(taped, kRingWords);
}

TEST(RecordingThreads, DropWhatFindsNoRoomAndCountIt) {
  LiveSession session({Follow::kAll, OnFull::kDrop});
  constexpr uint64_t kCalls = 4 * kRingWords;
  const Taped taped = session.collect([] {
    in_threads(3, [](uint32_t) {
      for (uint64_t i = 1; i <= kCalls; ++i) record_free(i);
    });
  });
  EXPECT_EQ(taped.summary.stalls, 0u);
  expect_rising(taped);
  expect_complete(taped, 3 * kCalls);
}

TEST(RecordingThreads, AreStoppedInTheMiddleOfTheirWork) {
  LiveSession session;
  constexpr uint32_t kThreads = 3;
  constexpr uint64_t kAtLeast = 5000;
  std::atomic<uint64_t> calls[kThreads] = {};
  std::thread program([&calls] {
    in_threads(kThreads, [&calls](uint32_t thread) {
      while (process.recording) record_free(++calls[thread]);
    });
  });
  const Taped taped = session.collect([&calls] {
    for (const auto& of_thread : calls) {
      while (of_thread < kAtLeast) std::this_thread::yield();
    }
  });
  program.join();
  expect_rising(taped);
  EXPECT_EQ(taped.summary.end_reason, schema::EndReason::kRecordingStopped);
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    EXPECT_GE(taped.of_thread(thread).size() + taped.summary.losses.lost_events, kAtLeast - 1);
  }
}

TEST(RecordingThreads, TakeTheRingsOfThoseThatEnded) {
  LiveSession session;
  constexpr uint32_t kFreeRings = 3;
  constexpr uint32_t kThreads = 30;
  for (uint32_t ring = kFreeRings; ring < kRings; ++ring) {
    session.view().ring(ring).lock.word = tests::kLivingOwner;
  }
  const Taped taped = session.collect([] {
    for (uint32_t i = 0; i < kThreads; ++i) {
      in_threads(1, [](uint32_t) {
        for (uint64_t call = 1; call <= 100; ++call) record_free(call);
      });
    }
  });
  expect_rising(taped);
  expect_complete(taped, kThreads * 100);
  EXPECT_GT(taped.summary.threads, kFreeRings);
}

TEST(RecordingThreads, ArePlacedInTime) {
  LiveSession session;
  const auto program = [](uint32_t) {
    for (uint64_t i = 1; i <= 10'000; ++i) record_free(i);
  };
  in_threads(1, program);  // is there when the collector first looks
  const Taped taped = session.collect([&program] { in_threads(1, program); });
  ASSERT_FALSE(taped.times.empty());
  EXPECT_EQ(taped.times.back().event, taped.events.size());
  for (const schema::TimeSample& time : taped.times) {
    EXPECT_LE(time.time_ns, taped.summary.duration_ns);
  }
}

TEST(RecordingThreads, SeeThatARecorderWithNothingToDoLives) {
  LiveSession session;
  const auto& progress = session.view().board().progress;
  session.collect([&] {
    const uint32_t before = progress;
    EXPECT_TRUE(tests::wait_until([&] { return progress - before > 3; }));
  });
}

}  // namespace
}  // namespace heaptape::recorder
