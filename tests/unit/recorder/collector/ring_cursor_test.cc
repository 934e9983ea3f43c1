// One ring, read call by call and in batches.
#include "recorder/collector/ring_cursor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/address/address_range.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/fake_session.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::recorder {
namespace {

using tests::free_record;
using tests::malloc_record;
using tests::realloc_record;

class RingCursorTest : public testing::Test {
 protected:
  // The blocks of all calls that can be seen.
  std::vector<uint64_t> read_all() {
    tests::copy_and_show(backlog_, cursor_);
    std::vector<uint64_t> addresses;
    while (const LoggedCall* call = cursor_.peek()) {
      addresses.push_back(call->blocks.given_up + call->blocks.handed_out);
      cursor_.pop();
    }
    return addresses;
  }
  // Frees of `count` addresses, 1 and up, of one word each.
  void write_frees(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) pen_.write_words({first_word(Op::kFree, ++last_, false)});
  }
  static std::string bytes_of(const RingHeader& ring) {
    return {reinterpret_cast<const char*>(&ring), sizeof ring};
  }
  uint32_t take(uint64_t last_order) {
    cursor_.take(batch_, last_order);
    return batch_.count;
  }
  uint64_t tail() const { return pen_.header().tail; }

  tests::FakeSession session_;
  tests::RingPen pen_{session_, 3, 0, 17};
  tests::TempDir dir_;
  std::unique_ptr<schema::TapeWriter> tape_ =
      std::move(*schema::TapeWriter::create(dir_.file("a.tape"), tests::sample_header()));
  StackTable stacks_{tape_->encoder()};
  Backlog backlog_;
  RingCursor cursor_{backlog_, session_.view(), 3, 5, &stacks_};
  CallBatch batch_;
  uint64_t last_ = 0;
};

TEST_F(RingCursorTest, KnowsWhoseRingItReads) {
  EXPECT_EQ(cursor_.index(), 3u);
  EXPECT_EQ(cursor_.thread(), 5u);
  EXPECT_EQ(cursor_.owner(), OwnerState::kLives);
}

TEST_F(RingCursorTest, GivesACallTheTimeMarkBeforeIt) {
  pen_.write_words({time_mark(12345)}).write(free_record(0x1000)).write(free_record(0x2000));
  tests::copy_and_show(backlog_, cursor_);
  ASSERT_NE(cursor_.peek(), nullptr);
  EXPECT_EQ(cursor_.peek()->ticks, 12345u);
  EXPECT_EQ(cursor_.peek()->stamp, 0u);
  cursor_.pop();
  ASSERT_NE(cursor_.peek(), nullptr);
  EXPECT_EQ(cursor_.peek()->ticks, 0u);
}

TEST_F(RingCursorTest, SeesNothingInAnEmptyRing) {
  EXPECT_EQ(read_all(), std::vector<uint64_t>());
  EXPECT_TRUE(cursor_.drained());
}

TEST_F(RingCursorTest, SeesRecordsOnlyOnceItIsRefreshed) {
  pen_.write(malloc_record(0x1000));
  EXPECT_EQ(cursor_.peek(), nullptr);
  EXPECT_EQ(read_all(), std::vector<uint64_t>{0x1000});
}

TEST_F(RingCursorTest, PeeksAtTheSameRecordUntilItIsPopped) {
  pen_.write(malloc_record(0x1000)).write(malloc_record(0x2000));
  tests::copy_and_show(backlog_, cursor_);
  EXPECT_EQ(cursor_.peek()->blocks.handed_out, 0x1000u);
  EXPECT_EQ(cursor_.peek()->blocks.handed_out, 0x1000u);
  EXPECT_FALSE(cursor_.drained());
  cursor_.pop();
  EXPECT_EQ(cursor_.peek()->blocks.handed_out, 0x2000u);
}

TEST_F(RingCursorTest, StepsOverTheEmptyEndsOfSegments) {
  pen_.write(malloc_record(0x1000)).end_segment().write(malloc_record(0x2000));
  pen_.end_segment().end_segment();
  EXPECT_EQ(read_all(), (std::vector<uint64_t>{0x1000, 0x2000}));
  EXPECT_TRUE(cursor_.drained());
  EXPECT_FALSE(cursor_.broken());
}

TEST_F(RingCursorTest, ReadsEveryRecordOfManyRounds) {
  uint64_t next = 0;
  for (uint64_t round = 0; round < 10; ++round) {
    write_frees(kRingWords / 3 * 2);
    for (const uint64_t address : read_all()) ASSERT_EQ(address, ++next);
    cursor_.release();
  }
  EXPECT_EQ(next, last_);
}

TEST_F(RingCursorTest, ReadsARingThatIsFullToTheLastWord) {
  write_frees(kRingWords);
  EXPECT_EQ(read_all().size(), kRingWords);
  EXPECT_FALSE(cursor_.broken());
}

TEST_F(RingCursorTest, OrderNeverDecreases) {
  pen_.write(free_record(0x1000, 50)).write(free_record(0x2000)).write(free_record(0x3000, 60));
  tests::copy_and_show(backlog_, cursor_);
  std::vector<uint64_t> orders;
  while (cursor_.peek() != nullptr) {
    orders.push_back(cursor_.order());
    cursor_.pop();
  }
  EXPECT_EQ(orders, (std::vector<uint64_t>{50, 50, 60}));
}

// A batch of each kind of record is what single calls are.
TEST_F(RingCursorTest, TakesCallsAsTheyAre) {
  Record aligned = malloc_record(0x3000, 0, 77);
  aligned.op = Op::kMemalign;
  aligned.alignment = 512;
  pen_.write_words({time_mark(12345)})
      .write(malloc_record(0x1000))
      .write(free_record(0x1000))
      .write(aligned)
      .write(realloc_record(0x3000, 0x4000))
      .write(malloc_record(0));
  tests::copy_and_show(backlog_, cursor_);
  cursor_.take(batch_, 0);
  ASSERT_EQ(batch_.count, 5u);
  EXPECT_EQ(batch_.ticks, 12345u);
  EXPECT_FALSE(batch_.is_stamped);
  EXPECT_EQ(batch_.events[0], (schema::Event{Op::kMalloc, 5, 32, 0, 0x1000, 0}));
  EXPECT_EQ(batch_.events[1], (schema::Event{Op::kFree, 5, 0, 0, 0, 0x1000}));
  EXPECT_EQ(batch_.events[2], (schema::Event{Op::kMemalign, 5, 77, 512, 0x3000, 0}));
  EXPECT_EQ(batch_.events[3].freed_address, 0x3000u);
  EXPECT_EQ(batch_.events[3].address, 0x4000u);
  EXPECT_EQ(batch_.events[4].address, 0u);
  EXPECT_TRUE(cursor_.drained());
  cursor_.take(batch_, 0);
  EXPECT_EQ(batch_.count, 0u);
}

TEST_F(RingCursorTest, TakesThoseUpToAnOrder) {
  pen_.write(free_record(0x1000, 10)).write(free_record(0x2000, 20)).write(free_record(0x3000, 21));
  tests::copy_and_show(backlog_, cursor_);
  EXPECT_EQ(take(9), 0u);
  EXPECT_EQ(take(20), 2u);
  EXPECT_TRUE(batch_.is_stamped);
  EXPECT_EQ(batch_.stamps[1], 20u);
  EXPECT_EQ(take(20), 0u);
  EXPECT_EQ(take(21), 1u);
}

TEST_F(RingCursorTest, TakesCallsWithAStampApartFromThoseWithout) {
  pen_.write(free_record(0x1000)).write(free_record(0x2000)).write(free_record(0x3000, 30));
  tests::copy_and_show(backlog_, cursor_);
  EXPECT_EQ(take(100), 2u);
  EXPECT_FALSE(batch_.is_stamped);
  EXPECT_EQ(take(100), 1u);
  EXPECT_TRUE(batch_.is_stamped);
}

TEST_F(RingCursorTest, TakesThoseOfASegmentAtATime) {
  write_frees(kSegmentWords + 3);
  tests::copy_and_show(backlog_, cursor_);
  EXPECT_EQ(take(0), kSegmentWords);
  EXPECT_TRUE(batch_.is_cut_short) << "though its segment is read to the end";
  EXPECT_EQ(take(0), 3u);
  EXPECT_FALSE(batch_.is_cut_short);
}

// A time mark, a frame and the rest of a segment lie between calls.
TEST_F(RingCursorTest, TakesNoCallBehindATimeMark) {
  pen_.write(free_record(0x1000)).write_words({time_mark(9)}).write(free_record(0x2000));
  tests::copy_and_show(backlog_, cursor_);
  EXPECT_EQ(take(0), 1u);
  EXPECT_EQ(batch_.ticks, 0u);
  EXPECT_EQ(take(0), 1u);
  EXPECT_EQ(batch_.ticks, 9u);
}

TEST_F(RingCursorTest, TakesCallsUpToAWordThatIsNoRecord) {
  pen_.write(free_record(0x1000)).write_words({63}).write(free_record(0x2000));
  tests::copy_and_show(backlog_, cursor_);
  EXPECT_EQ(take(0), 1u);
  EXPECT_FALSE(cursor_.broken());
  EXPECT_EQ(take(0), 0u);
  EXPECT_TRUE(cursor_.broken());
}

TEST_F(RingCursorTest, TakesNoResizeOfAnAddressThatCannotBe) {
  pen_.write(free_record(0x1000)).write(realloc_record(base::kAddressLimit, 0x2000));
  tests::copy_and_show(backlog_, cursor_);
  EXPECT_EQ(take(0), 1u);
  EXPECT_EQ(take(0), 0u);
  EXPECT_TRUE(cursor_.broken());
}

TEST_F(RingCursorTest, TakesNoRecordThatEndsBehindTheHead) {
  pen_.write(free_record(0x1000)).write_words({first_word(Op::kMalloc, 0x2000, false)});
  tests::copy_and_show(backlog_, cursor_);
  EXPECT_EQ(take(0), 1u);
  EXPECT_EQ(take(0), 0u);
  EXPECT_TRUE(cursor_.broken());
}

TEST_F(RingCursorTest, TakesAgainWhatWasReturned) {
  pen_.write_words({time_mark(77)});
  for (uint64_t i = 1; i <= 4; ++i) pen_.write(free_record(i * 0x1000));
  tests::copy_and_show(backlog_, cursor_);
  ASSERT_EQ(take(0), 4u);
  cursor_.return_from(batch_, 2);
  EXPECT_FALSE(cursor_.drained());
  ASSERT_EQ(take(0), 2u);
  EXPECT_EQ(batch_.events[0].freed_address, 0x3000u);
  cursor_.return_from(batch_, 2);
  EXPECT_TRUE(cursor_.drained());
}

TEST_F(RingCursorTest, ReturnsAWholeBatchWithItsTimeAndOrder) {
  pen_.write(free_record(0x1000, 10)).write(free_record(0x2000, 20)).write(free_record(0x3000, 30));
  tests::copy_and_show(backlog_, cursor_);
  ASSERT_EQ(take(100), 3u);
  cursor_.return_from(batch_, 1);
  ASSERT_NE(cursor_.peek(), nullptr);
  EXPECT_EQ(cursor_.order(), 20u) << "and not 30";
  ASSERT_EQ(take(20), 1u);
  cursor_.return_from(batch_, 0);
  ASSERT_EQ(take(20), 1u);
  ASSERT_EQ(take(100), 1u);
  cursor_.return_from(batch_, 0);
  ASSERT_NE(cursor_.peek(), nullptr);
  EXPECT_EQ(cursor_.order(), 30u);
}

TEST_F(RingCursorTest, ReturnsTheTimeMarkOfAWholeBatch) {
  pen_.write_words({time_mark(77)}).write(free_record(0x1000));
  tests::copy_and_show(backlog_, cursor_);
  ASSERT_EQ(take(0), 1u);
  cursor_.return_from(batch_, 0);
  ASSERT_NE(cursor_.peek(), nullptr);
  EXPECT_EQ(cursor_.peek()->ticks, 77u);
}

TEST_F(RingCursorTest, GivesUpAtAWordThatIsNoRecord) {
  pen_.write(malloc_record(0x1000)).write_words({63}).write(malloc_record(0x2000));
  EXPECT_EQ(read_all(), std::vector<uint64_t>{0x1000});
  EXPECT_TRUE(cursor_.broken());
  write_frees(kRingWords - 10);
  tests::copy_and_show(backlog_, cursor_);
  EXPECT_EQ(tail(), pen_.head()) << "its program goes on";
  write_frees(kRingWords);
  EXPECT_FALSE(backlog_.has_half_full_ring());
}

// By its head, while a call waits for its turn.
TEST_F(RingCursorTest, TakesTheCallThatItHasShownOfARingThatBreaks) {
  pen_.write(free_record(0x1000)).write(free_record(0x2000)).write(free_record(0x3000));
  tests::copy_and_show(backlog_, cursor_);
  ASSERT_NE(cursor_.peek(), nullptr);
  pen_.header().head = 1;
  {
    const std::scoped_lock lock(backlog_.mutex());
    cursor_.copy(1);
  }
  cursor_.release();
  EXPECT_EQ(backlog_.bytes(), 0u);
  cursor_.show_round(1);
  EXPECT_EQ(take(0), 1u);
  EXPECT_EQ(take(0), 0u);
}

TEST_F(RingCursorTest, CopiesTheNextCallAndNoMore) {
  pen_.write(free_record(0x1000));
  cursor_.show_next();
  ASSERT_NE(cursor_.peek(), nullptr);
  pen_.write(free_record(0x2000));
  cursor_.show_next();
  EXPECT_NE(tail(), pen_.head()) << "one is there";
  cursor_.pop();
  cursor_.show_next();
  EXPECT_EQ(tail(), pen_.head());
}

TEST_F(RingCursorTest, GivesUpAtARecordAcrossTheEndOfASegment) {
  write_frees(kSegmentWords - 1);
  pen_.write_words({first_word(Op::kMalloc, 0x1000, false), 32});
  EXPECT_EQ(read_all().size(), kSegmentWords - 1);
  EXPECT_TRUE(cursor_.broken());
}

TEST_F(RingCursorTest, GivesUpAtARecordThatIsNotWhollyPublished) {
  pen_.write_words({first_word(Op::kMalloc, 0x1000, false)});
  EXPECT_TRUE(read_all().empty());
  EXPECT_TRUE(cursor_.broken());
}

TEST_F(RingCursorTest, GivesUpAtAnAddressThatNoTapeCanHold) {
  pen_.write(tests::realloc_record(base::kAddressLimit, 0x1000));
  EXPECT_TRUE(read_all().empty());
  EXPECT_TRUE(cursor_.broken());
}

TEST_F(RingCursorTest, ReadsTheHighestAddressThatATapeCanHold) {
  pen_.write(tests::realloc_record(base::kAddressLimit - 1, 0x1000));
  tests::copy_and_show(backlog_, cursor_);
  ASSERT_NE(cursor_.peek(), nullptr);
  EXPECT_EQ(cursor_.peek()->blocks.given_up, base::kAddressLimit - 1);
}

TEST_F(RingCursorTest, ReadsARecordThatEndsWithItsSegment) {
  write_frees(kSegmentWords - 2);
  pen_.write_words({first_word(Op::kMalloc, 0x1000, false), 32});
  EXPECT_EQ(read_all().size(), kSegmentWords - 1);
  EXPECT_FALSE(cursor_.broken());
}

TEST_F(RingCursorTest, ReadsNothingPastTheHeadWhereASegmentEndsEarly) {
  pen_.write_words({kSegmentEndOp});
  EXPECT_TRUE(read_all().empty());
  pen_.write(malloc_record(0x1000));
  EXPECT_EQ(read_all(), std::vector<uint64_t>{0x1000});
}

// It may change what peek() has checked already.
TEST_F(RingCursorTest, KeepsACallThatItsProducerOverwrites) {
  pen_.write(malloc_record(0x1000));
  tests::copy_and_show(backlog_, cursor_);
  ASSERT_NE(cursor_.peek(), nullptr);
  session_.view().words(3)[0] = ~uint64_t{0};
  EXPECT_EQ(cursor_.peek()->blocks.handed_out, 0x1000u);
}

TEST_F(RingCursorTest, StaysBrokenWhenTheHeadComesRightAgain) {
  write_frees(8);
  read_all();
  pen_.header().head = 4;
  tests::copy_and_show(backlog_, cursor_);
  pen_.header().head = 8;
  write_frees(1);
  EXPECT_TRUE(read_all().empty());
  EXPECT_TRUE(cursor_.broken());
}

TEST_F(RingCursorTest, LetsTheProducerOfABrokenRingGoOn) {
  pen_.write_words({kOpMask});
  read_all();
  ASSERT_TRUE(cursor_.broken());
  pen_.header().head = kRingWords;
  pen_.header().producer_waits = 1;
  const uint32_t space = pen_.header().space;
  tests::copy_and_show(backlog_, cursor_);
  EXPECT_EQ(tail(), kRingWords);
  EXPECT_EQ(pen_.header().space, space + 1);
}

TEST_F(RingCursorTest, WritesNoMoreToTheMemoryThatABrokenRingGaveBack) {
  pen_.write_words({kOpMask});
  read_all();
  cursor_.release();
  std::vector<Backlog::Segment> others;
  {
    const std::scoped_lock lock(backlog_.mutex());
    others.push_back(backlog_.take_segment());
  }
  uint64_t* const words = others.front().get();
  std::fill_n(words, kSegmentWords, 7);
  pen_.header().head = kRingWords / 2;
  backlog_.pull_half_full();
  EXPECT_EQ(std::count(words, words + kSegmentWords, 7), static_cast<ptrdiff_t>(kSegmentWords));
  backlog_.give_back(others);
}

TEST_F(RingCursorTest, PutsFramesOnTheTapeUnderTheirNumbersThere) {
  const schema::FrameNumber other = stacks_.find_or_add({0, 0x7000});  // of another ring
  pen_.write_words({frame_word(0), 0x5000});
  pen_.write_words({frame_word(1), 0x6000});
  pen_.write_words({first_word(Op::kMalloc, 0x1000, false, true), 24, 2});
  tests::copy_and_show(backlog_, cursor_);
  const LoggedCall* const call = cursor_.peek();
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call->stack, other + 2);
  EXPECT_EQ(stacks_.find_or_add({0, 0x5000}), other + 1);
  EXPECT_EQ(stacks_.find_or_add({other + 1, 0x6000}), other + 2);
}

// Or a producer that goes on for ever would take all memory.
TEST_F(RingCursorTest, GivesUpAtMoreFramesThanARingHas) {
  for (uint32_t i = 0; i < kMostRingFrames; ++i) {
    pen_.write_words({frame_word(0), 0x5000});
    if (i % 1024 == 0) read_all();
    cursor_.release_if_due();
  }
  read_all();
  EXPECT_FALSE(cursor_.broken());
  pen_.write_words({frame_word(0), 0x5000});
  read_all();
  EXPECT_TRUE(cursor_.broken());
}

TEST_F(RingCursorTest, GivesUpAtAStackThatItDoesNotHave) {
  pen_.write_words({frame_word(0), 0x5000});
  pen_.write_words({first_word(Op::kMalloc, 0x1000, false, true), 24, 2});
  EXPECT_TRUE(read_all().empty());
  EXPECT_TRUE(cursor_.broken());
}

TEST_F(RingCursorTest, GivesUpAtAFrameOfACallerThatItDoesNotHave) {
  pen_.write_words({frame_word(1), 0x5000});
  EXPECT_TRUE(read_all().empty());
  EXPECT_TRUE(cursor_.broken());
}

// A hostile producer must not put them onto a tape that has no stacks.
TEST_F(RingCursorTest, GivesUpAtAFrameWhereNoStacksAreRecorded) {
  RingCursor cursor(backlog_, session_.view(), 3, 5, nullptr);
  pen_.write_words({frame_word(0), 0x5000});
  tests::copy_and_show(backlog_, cursor);
  EXPECT_EQ(cursor.peek(), nullptr);
  EXPECT_TRUE(cursor.broken());
}

TEST_F(RingCursorTest, GivesUpAtACallWithoutTheStackThatItAnnounces) {
  pen_.write_words({first_word(Op::kMalloc, 0x1000, false, true), 24});
  EXPECT_TRUE(read_all().empty());
  EXPECT_TRUE(cursor_.broken());
}

TEST_F(RingCursorTest, GivesUpWhenTheHeadGoesBack) {
  write_frees(8);
  read_all();
  pen_.header().head = 4;
  tests::copy_and_show(backlog_, cursor_);
  EXPECT_TRUE(cursor_.broken());
}

TEST_F(RingCursorTest, GivesUpAtTheHighestHeadThereIs) {
  write_frees(8);
  read_all();
  pen_.header().head = UINT64_MAX;
  EXPECT_TRUE(read_all().empty());
  EXPECT_TRUE(cursor_.broken());
}

TEST_F(RingCursorTest, GivesUpWhenTheHeadIsMoreThanARingAhead) {
  write_frees(8);
  read_all();
  cursor_.release();
  pen_.header().head = 8 + kRingWords + 1;
  tests::copy_and_show(backlog_, cursor_);
  EXPECT_TRUE(cursor_.broken());
  EXPECT_EQ(cursor_.peek(), nullptr);
}

// But for what its next owner writes when it claims the ring, and for the futex, which only grows.
TEST_F(RingCursorTest, LeavesAFreedRingAsIfItHadNeverBeenUsed) {
  write_frees(100);
  read_all();
  cursor_.release();
  RingHeader& ring = pen_.header();
  ring.entered = ring.closed = 1;
  ring.resizing = ring.lost_full = ring.lost_stopped = ring.stalls = ring.stall_ns = 9;
  ring.producer_waits = 9;
  cursor_.free_ring();
  ring.space = ring.process_slot = ring.thread_id = 0;
  ring.process_serial = 0;
  ring.lock.next = ring.lock.previous = nullptr;
  std::fill(std::begin(ring.thread_name), std::end(ring.thread_name), '\0');
  EXPECT_EQ(bytes_of(ring), bytes_of(session_.view().ring(4)));
}

TEST_F(RingCursorTest, OffersAFreedRingAgainBeforeHigherOnes) {
  session_.header().rings_taken.lowest_free = 9;
  cursor_.free_ring();
  EXPECT_EQ(session_.header().rings_taken.lowest_free, 3u);
}

}  // namespace
}  // namespace heaptape::recorder
