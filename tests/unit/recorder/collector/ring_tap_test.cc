// How words leave a ring, and what becomes of its memory.
#include "recorder/collector/ring_tap.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <numeric>
#include <vector>

#include "base/address/pages.h"
#include "base/clock.h"
#include "tests/support/fake_session.h"

namespace heaptape::recorder {
namespace {

class RingTapTest : public testing::Test {
 protected:
  // Words that count up from the last one.
  void write(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) pen_.write_words({++last_});
  }
  // Pulls, and appends what came to words_.
  void pull() {
    const uint64_t before = tap_.copied();
    tap_.pull();
    for (Backlog::Segment& segment : tap_.take_segments()) segments_.push_back(std::move(segment));
    for (uint64_t at = before; at < tap_.copied(); ++at) {
      words_.push_back(segments_[at / kSegmentWords][at % kSegmentWords]);
    }
  }
  std::vector<uint64_t> all_words() const {
    std::vector<uint64_t> words(last_);
    std::iota(words.begin(), words.end(), 1);
    return words;
  }
  uint64_t tail() const { return pen_.header().tail; }

  // As if the ring had been filled before.
  void fill_the_rest() {
    for (uint64_t at = pen_.head(); at < kRingWords; ++at) session_.view().words(3)[at] = ~at;
  }
  bool trim_at_ms(uint64_t ms) { return tap_.trim_if_idle(ms * base::kMillisecondNs); }
  // The segments of the ring that have memory.
  std::vector<uint64_t> segments_with_memory() const {
    std::vector<unsigned char> resident(kSegments);
    EXPECT_EQ(mincore(session_.view().words(3), kRingBytes, resident.data()), 0);
    std::vector<uint64_t> segments;
    for (uint64_t i = 0; i < kSegments; ++i) {
      if ((resident[i] & 1) != 0) segments.push_back(i);
    }
    return segments;
  }
  static std::vector<uint64_t> every_segment() {
    std::vector<uint64_t> segments(kSegments);
    std::iota(segments.begin(), segments.end(), 0);
    return segments;
  }
  static constexpr uint64_t kSegments = kRingWords / kSegmentWords;
  static_assert(kSegmentWords * sizeof(uint64_t) == base::kPageBytes);

  tests::FakeSession session_;
  tests::RingPen pen_{session_, 3, 0, 17};
  Backlog backlog_;
  RingTap tap_{backlog_, session_.view(), 3};
  std::vector<Backlog::Segment> segments_;
  std::vector<uint64_t> words_;
  uint64_t last_ = 0;
};

TEST_F(RingTapTest, CopiesEachWordOnce) {
  for (const uint64_t count : {1, 510, 1, 1, 512, 1023, 0, 2000}) {
    write(count);
    pull();
    EXPECT_EQ(tail(), last_);
    EXPECT_EQ(tap_.waiting(), 0u);
  }
  EXPECT_EQ(words_, all_words());
  EXPECT_EQ(segments_.size(), (last_ + kSegmentWords - 1) / kSegmentWords);
  EXPECT_EQ(backlog_.bytes(), segments_.size() * Backlog::kSegmentBytes);
}

TEST_F(RingTapTest, CopiesAFullRingAgainAndAgain) {
  for (int round = 0; round < 3; ++round) {
    write(kRingWords);
    pull();
  }
  EXPECT_FALSE(tap_.broken());
  EXPECT_EQ(words_, all_words());
}

// A producer counts the segment that it enters.
TEST_F(RingTapTest, IsHalfFullWithTheSegmentThatIsBeingWritten) {
  write(kRingWords / 2 - kSegmentWords - 1);
  EXPECT_FALSE(tap_.is_half_full());
  write(1);
  EXPECT_TRUE(tap_.is_half_full());
  pull();
  EXPECT_FALSE(tap_.is_half_full());
}

TEST_F(RingTapTest, SaysWhereAThreadIsThatMakesManyCalls) {
  RingHeader& ring = session_.view().ring(3);
  write(4 * kSegmentWords - 1);
  pull();
  ring.processor = 8;
  EXPECT_EQ(tap_.busy_processor(), std::nullopt);
  write(1);
  EXPECT_EQ(tap_.busy_processor(), std::nullopt);  // it is not copied yet
  pull();
  EXPECT_EQ(tap_.busy_processor(), 7u);
  EXPECT_EQ(tap_.busy_processor(), std::nullopt);
  write(4 * kSegmentWords);
  pull();
  ring.processor = 0;
  EXPECT_EQ(tap_.busy_processor(), std::nullopt);
}

TEST_F(RingTapTest, IsBrokenByAHeadThatGoesBack) {
  write(8);
  pull();
  pen_.header().head = 4;
  pull();
  EXPECT_TRUE(tap_.broken());
  pen_.header().head = 8;
  write(1);
  pull();
  EXPECT_EQ(tap_.copied(), 8u) << "and stays so";
}

TEST_F(RingTapTest, IsBrokenByAHeadMoreThanARingAhead) {
  write(8);
  pull();
  pen_.header().head = 8 + kRingWords + 1;
  pull();
  EXPECT_TRUE(tap_.broken());
  EXPECT_EQ(tap_.copied(), 8u);
  EXPECT_FALSE(tap_.is_half_full());
}

TEST_F(RingTapTest, LetsTheProducerOfABrokenRingGoOn) {
  tap_.give_up();
  pen_.header().head = kRingWords;
  pen_.header().producer_waits = 1;
  const uint32_t space = pen_.header().space;
  pull();
  EXPECT_EQ(tail(), kRingWords);
  EXPECT_EQ(pen_.header().space, space + 1);
}

TEST_F(RingTapTest, WakesAProducerThatWaits) {
  write(kRingWords);
  pen_.header().producer_waits = 1;
  const uint32_t space = pen_.header().space;
  pull();
  EXPECT_EQ(pen_.header().space, space + 1);
}

TEST_F(RingTapTest, WakesNobodyWhenNobodyWaits) {
  write(kRingWords);
  pull();
  EXPECT_EQ(pen_.header().space, 0u);
}

// A thread that waits for the recorder sees that it lives.
TEST_F(RingTapTest, ShowsProgressOnlyWhenItCopies) {
  const uint32_t progress = session_.board().progress;
  pull();
  EXPECT_EQ(session_.board().progress, progress);
  write(1);
  pull();
  EXPECT_EQ(session_.board().progress, progress + 1);
}

TEST_F(RingTapTest, TakesTheMemoryOfAThreadThatIsIdleForASecond) {
  write(5 * kSegmentWords + 7);
  pen_.header().entered = 6 * kSegmentWords;
  fill_the_rest();
  pull();
  EXPECT_FALSE(trim_at_ms(5'000));
  EXPECT_FALSE(trim_at_ms(5'999));
  EXPECT_EQ(segments_with_memory(), every_segment());
  pen_.header().producer_waits = 1;
  const uint32_t space = pen_.header().space;
  EXPECT_TRUE(trim_at_ms(6'000));
  EXPECT_EQ(segments_with_memory(), std::vector<uint64_t>{5});
  EXPECT_EQ(pen_.header().closed, 0u);
  EXPECT_EQ(pen_.header().space - space, 1u) << "it waits for the ring to be opened";
  // What it writes next is read.
  write(1);
  pull();
  EXPECT_EQ(words_, all_words());
}

TEST_F(RingTapTest, TakesNoMemoryFromASegmentThatItsThreadHasJustEntered) {
  write(5 * kSegmentWords);
  pen_.header().entered = 7 * kSegmentWords;  // beyond a head that is yet to be published
  fill_the_rest();
  pull();
  trim_at_ms(5'000);
  trim_at_ms(7'000);
  EXPECT_EQ(segments_with_memory(), every_segment());
  EXPECT_EQ(pen_.header().closed, 0u);
}

TEST_F(RingTapTest, TakesNoMemoryFromWhatIsNotCopied) {
  write(5 * kSegmentWords);
  pen_.header().entered = 5 * kSegmentWords;
  pull();
  write(1);
  pen_.header().entered = 6 * kSegmentWords;
  trim_at_ms(5'000);
  EXPECT_FALSE(trim_at_ms(7'000));
  pull();
  EXPECT_EQ(words_, all_words());
}

TEST_F(RingTapTest, LeavesItsMemoryToAThreadThatUsedFourSegments) {
  write(4 * kSegmentWords);
  pen_.header().entered = 4 * kSegmentWords;
  pull();
  trim_at_ms(5'000);
  trim_at_ms(7'000);
  EXPECT_EQ(segments_with_memory(), (std::vector<uint64_t>{0, 1, 2, 3}));
  write(1);
  pen_.header().entered = 5 * kSegmentWords;
  pull();
  EXPECT_TRUE(trim_at_ms(8'000));
  EXPECT_EQ(segments_with_memory(), std::vector<uint64_t>{4});
}

// It would come round the whole ring in the end.
TEST_F(RingTapTest, TakesTheMemoryOfAThreadThatIsSlow) {
  uint64_t trims = 0;
  const auto write_and_pull = [this](uint64_t count) {
    write(count);
    pen_.header().entered = (pen_.head() / kSegmentWords + 1) * kSegmentWords;
    pull();
  };
  for (uint64_t second = 1; second <= 100; ++second) {
    write_and_pull(100);
    trims += trim_at_ms(1'000 * second) ? 1 : 0;
    EXPECT_LE(segments_with_memory().size(), 6u);
  }
  EXPECT_EQ(trims, 100 * 100 / (4 * kSegmentWords));
  write_and_pull(4 * kSegmentWords + 1);
  EXPECT_FALSE(trim_at_ms(101'000)) << "it is busy";
  write_and_pull(4 * kSegmentWords);
  EXPECT_TRUE(trim_at_ms(102'000));
}

class BacklogTest : public testing::Test {
 protected:
  // Makes the ring of `pen` half full.
  static void fill(tests::RingPen& pen) {
    for (uint64_t i = 0; i < kRingWords / 2; ++i) pen.write_words({1});
  }

  tests::FakeSession session_;
  tests::RingPen a_{session_, 0};
  tests::RingPen b_{session_, 1};
};

TEST_F(BacklogTest, CopiesRingsThatAreHalfFullAndNoOthers) {
  Backlog backlog;
  const RingTap a(backlog, session_.view(), 0);
  const RingTap b(backlog, session_.view(), 1);
  EXPECT_FALSE(backlog.has_half_full_ring());
  fill(b_);
  a_.write_words({1});
  EXPECT_TRUE(backlog.has_half_full_ring());
  EXPECT_TRUE(backlog.pull_half_full().has_room);
  EXPECT_FALSE(backlog.has_half_full_ring());
  EXPECT_EQ(a.copied(), 0u);
  EXPECT_EQ(b.copied(), kRingWords / 2);
  EXPECT_EQ(backlog.bytes(), kRingBytes / 2);
}

TEST_F(BacklogTest, SaysWhetherAProducerWaitedForIt) {
  Backlog backlog;
  const RingTap a(backlog, session_.view(), 0);
  const RingTap b(backlog, session_.view(), 1);
  b_.header().producer_waits = 1;  // for the ring to be opened again: it is not full
  fill(a_);
  EXPECT_FALSE(backlog.pull_half_full().was_waited_for);
  fill(a_);
  a_.header().producer_waits = 1;
  EXPECT_TRUE(backlog.pull_half_full().was_waited_for);
}

// So that a busy process leaves room to the others.
TEST_F(BacklogTest, TakesNoMoreThanHalfOfWhatIsLeft) {
  Backlog backlog(4 * kRingBytes);
  EXPECT_TRUE(backlog.has_room_for(2 * kRingWords));
  EXPECT_FALSE(backlog.has_room_for(2 * kRingWords + 1));
  std::vector<Backlog::Segment> segments;
  for (uint64_t i = 0; i < 2 * kRingBytes / Backlog::kSegmentBytes; ++i) {
    segments.push_back(backlog.take_segment());
  }
  EXPECT_TRUE(backlog.has_room_for(kRingWords));
  EXPECT_FALSE(backlog.has_room_for(kRingWords + 1));
  EXPECT_FALSE(backlog.is_half_full());
  segments.push_back(backlog.take_segment());
  EXPECT_TRUE(backlog.is_half_full());
  backlog.give_back(segments);
  EXPECT_EQ(backlog.bytes(), 0u);
  EXPECT_TRUE(segments.empty());
}

TEST_F(BacklogTest, LeavesARingForWhichItHasNoRoom) {
  Backlog backlog(kRingBytes);
  const RingTap a(backlog, session_.view(), 0);
  fill(a_);
  EXPECT_FALSE(backlog.pull_half_full().has_room);
  EXPECT_EQ(a.copied(), 0u);
  EXPECT_EQ(a_.header().tail, 0u);
}

TEST_F(BacklogTest, ForgetsATapThatIsGone) {
  Backlog backlog;
  {
    const RingTap a(backlog, session_.view(), 0);
    fill(a_);
    EXPECT_TRUE(backlog.has_half_full_ring());
  }
  EXPECT_FALSE(backlog.has_half_full_ring());
}

}  // namespace
}  // namespace heaptape::recorder
