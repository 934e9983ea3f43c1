// The thread that producers wake.
#include "recorder/collector/ring_watch.h"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "recorder/collector/ring_cursor.h"
#include "recorder/collector/ring_tap.h"
#include "tests/support/command.h"
#include "tests/support/fake_session.h"

namespace heaptape::recorder {
namespace {

class RingWatchTest : public testing::Test {
 protected:
  bool is_asleep() const { return session_.lobby().collector_sleep == CollectorSleep::kAsleep; }
  // As a producer does.
  void wake() {
    auto& sleep = session_.lobby().collector_sleep;
    ASSERT_TRUE(tests::wait_until([this] { return is_asleep(); }));
    sleep = CollectorSleep::kAwake;
    syscall(SYS_futex, &sleep, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
  // But for less than half a ring: it may look while the ring is being filled.
  bool is_copied() const {
    return pen_.head() - pen_.header().tail < kRingWords / 2 - kSegmentWords;
  }
  void fill() {
    for (uint64_t i = 0; i < kRingWords / 2; ++i) pen_.write_words({1});
  }

  tests::FakeSession session_;
  tests::RingPen pen_{session_, 0};
  OtherProcessors others_;
  std::atomic<int> woken_ = 0;
  std::atomic<int> hurried_ = 0;
};

TEST_F(RingWatchTest, CopiesARingWhenItIsWoken) {
  Backlog backlog;
  const RingTap tap(backlog, session_.view(), 0);
  const RingWatch watch(
      session_.view(), backlog, others_, [this] { ++woken_; }, [this] { ++hurried_; });
  ASSERT_TRUE(tests::wait_until([this] { return is_asleep(); }));
  for (int i = 1; i <= 5; ++i) {
    fill();
    wake();
    ASSERT_TRUE(tests::wait_until([this] { return is_copied(); }));
    ASSERT_TRUE(tests::wait_until([&] { return woken_ >= i; }));
  }
}

// It came before anybody slept, so nobody was woken for it.
TEST_F(RingWatchTest, CopiesARingThatWasHalfFullBefore) {
  Backlog backlog;
  const RingTap tap(backlog, session_.view(), 0);
  fill();
  const RingWatch watch(
      session_.view(), backlog, others_, [this] { ++woken_; }, [this] { ++hurried_; });
  EXPECT_TRUE(tests::wait_until([this] { return is_copied(); }));
}

TEST_F(RingWatchTest, CopiesWhenThereIsRoomAgain) {
  Backlog backlog(2 * kRingBytes);
  const RingTap tap(backlog, session_.view(), 0);
  std::vector<Backlog::Segment> segments;
  {
    const std::scoped_lock lock(backlog.mutex());
    for (int i = 0; i < 2; ++i) segments.push_back(backlog.take_segment());
  }
  fill();
  const RingWatch watch(
      session_.view(), backlog, others_, [this] { ++woken_; }, [this] { ++hurried_; });
  ASSERT_TRUE(tests::wait_until([&] { return woken_ >= 2; })) << "it looks again";
  EXPECT_EQ(pen_.header().tail, 0u);
  backlog.give_back(segments);
  EXPECT_TRUE(tests::wait_until([this] { return is_copied(); }));
}

// The watch and the reader both copy, while the producer writes.
TEST_F(RingWatchTest, CopiesEachWordOnceBesideAReader) {
  constexpr uint64_t kCalls = 1'000'000;
  Backlog backlog;
  RingCursor cursor(backlog, session_.view(), 0, 0, nullptr);
  const RingWatch watch(
      session_.view(), backlog, others_, [this] { ++woken_; }, [this] { ++hurried_; });
  std::thread producer([this] {
    auto& sleep = session_.lobby().collector_sleep;
    for (uint64_t i = 1; i <= kCalls; ++i) {
      while (pen_.head() - pen_.header().tail == kRingWords) std::this_thread::yield();
      pen_.write_words({first_word(Op::kFree, i, false)});
      const bool is_half_full = pen_.head() - pen_.header().tail >= kRingWords / 2;
      if (i % kSegmentWords != 0 || !is_half_full || sleep == CollectorSleep::kAwake) continue;
      sleep = CollectorSleep::kAwake;
      syscall(SYS_futex, &sleep, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    }
  });
  EXPECT_TRUE(tests::wait_until([this] { return woken_ >= 3; })) << "it copies alone";
  uint64_t last = 0;
  uint64_t wrong = 0;
  while (last < kCalls && wrong == 0) {
    tests::copy_and_show(backlog, cursor);
    while (const LoggedCall* call = cursor.peek()) {
      wrong += call->event.freed_address != last + 1 ? 1 : 0;
      last = call->event.freed_address;
      cursor.pop();
    }
    cursor.release();
  }
  producer.join();
  EXPECT_EQ(wrong, 0u);
}

TEST_F(RingWatchTest, TellsOfAClaim) {
  Backlog backlog;
  const RingWatch watch(
      session_.view(), backlog, others_, [this] { ++woken_; }, [this] { ++hurried_; });
  wake();
  ASSERT_TRUE(tests::wait_until([&] { return woken_ >= 1; }));
  ++session_.lobby().claims;
  wake();
  EXPECT_TRUE(tests::wait_until([&] { return woken_ >= 2; }));
  EXPECT_TRUE(tests::wait_until([&] { return hurried_ >= 1; })) << "somebody waits for that";
}

// Its waker died between the note and the wake.
TEST_F(RingWatchTest, LooksWithoutAWakeToo) {
  Backlog backlog;
  const RingTap tap(backlog, session_.view(), 0);
  const RingWatch watch(
      session_.view(), backlog, others_, [this] { ++woken_; }, [this] { ++hurried_; });
  ASSERT_TRUE(tests::wait_until([this] { return is_asleep(); }));
  session_.lobby().collector_sleep = CollectorSleep::kAwake;
  fill();
  EXPECT_TRUE(tests::wait_until([this] { return is_copied(); }));
}

}  // namespace
}  // namespace heaptape::recorder
