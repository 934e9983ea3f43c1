// Calls that were copied early come onto the tape as if they had been read then.
#include <gtest/gtest.h>

#include <string>

#include "base/clock.h"
#include "recorder/collector/ring_merge.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/fake_session.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::recorder {
namespace {

using tests::malloc_record;
using tests::realloc_record;
using tests::RingPen;

constexpr uint64_t kBegin = 1'000'000'000;  // ns
constexpr uint64_t kPage = 0x1000;
constexpr uint64_t kEverythingNow = UINT64_MAX;  // of work()

// A process of one thread: its calls have no stamps.
struct OneThread {
  OneThread(Backlog& backlog, schema::TapeEncoder& tape)
      : merge(backlog, session.view(), 0, tape, kBegin) {
    session.join(0, 42);
    merge.add_ring(0);
  }

  tests::FakeSession session;
  RingPen pen{session, 0};
  RingMerge merge;
};

class RingRoundsTest : public testing::Test {
 protected:
  RingRoundsTest() {
    merge_.add_ring(0);
    merge_.add_ring(1);
  }
  bool begin_round(uint64_t cut, uint64_t now_ns = kBegin) {
    return merge_.begin_round(cut, now_ns);
  }
  // Frees of one word each.
  static void write_frees(RingPen& pen, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) pen.write_words({first_word(Op::kFree, kPage, false)});
  }
  // A round waits for a resize, a later call is in its ring, and the backlog is full.
  void wait_without_room() {
    a_.write(malloc_record(kPage, 10));
    a_.header().resizing = kPage;
    b_.write(malloc_record(kPage, 30));
    begin_round(40);
    merge_.work(kEverythingNow);
    ASSERT_EQ(merge_.rounds_done(), 0u);
    while (backlog_.has_room_for(1)) taken_.push_back(backlog_.take_segment());
    b_.write(malloc_record(2 * kPage, 50));
  }
  uint64_t events() { return tape_->encoder().events(); }
  void finish() {
    merge_.finish_times();
    summary_ = merge_.collect_summary(kBegin);
    ASSERT_TRUE(tape_->finish(summary_).ok());
    auto reader = schema::TapeReader::open(dir_.file("t"));
    ASSERT_TRUE(reader.ok()) << reader.error().message;
    ASSERT_TRUE(reader->read(batch_, 1'000'000).ok());
  }
  // The threads of the calls, in the tape's order.
  std::string threads() {
    finish();
    std::string text;
    for (const schema::Event& event : batch_.events) text += static_cast<char>('a' + event.thread);
    return text;
  }

  tests::FakeSession session_;
  ProcessSlot& slot_ = session_.join(0, 42);
  tests::TempDir dir_;
  std::unique_ptr<schema::TapeWriter> tape_ =
      std::move(*schema::TapeWriter::create(dir_.file("t"), tests::sample_header()));
  Backlog backlog_{8 * Backlog::kSegmentBytes};
  std::vector<Backlog::Segment> taken_;
  RingMerge merge_{backlog_, session_.view(), 0, tape_->encoder(), kBegin};
  RingPen a_{session_, 0};
  RingPen b_{session_, 1};
  schema::TapeSummary summary_;
  schema::EventBatch batch_;
};

TEST_F(RingRoundsTest, ComeOntoTheTapeInTheirOrder) {
  a_.write(malloc_record(kPage, 10));
  EXPECT_TRUE(begin_round(20));
  EXPECT_EQ(a_.header().tail, a_.head()) << "its thread may go on";
  b_.write(malloc_record(2 * kPage, 30)).write(malloc_record(3 * kPage, 50));
  EXPECT_TRUE(begin_round(40));
  a_.write(malloc_record(4 * kPage, 45));
  EXPECT_TRUE(begin_round(60));
  EXPECT_EQ(merge_.rounds_begun(), 3u);
  EXPECT_EQ(merge_.rounds_done(), 0u);
  EXPECT_EQ(events(), 0u);
  EXPECT_FALSE(merge_.work(kEverythingNow));
  EXPECT_EQ(merge_.rounds_done(), 3u);
  EXPECT_EQ(threads(), "abab");
}

// malloc_trim with this pad.
std::vector<uint64_t> trim_words(uint64_t stamp, uint64_t pad) {
  const uint64_t first = steering_word(schema::SteeringOp::kMallocTrim, stamp != 0);
  if (stamp == 0) return {first, pad, 0};
  return {first, stamp, pad, 0};
}

TEST_F(RingRoundsTest, HaveTheCallsThatSteerTheAllocatorInTheirOrder) {
  a_.write_words(trim_words(5, 100)).write(malloc_record(kPage, 10));
  b_.write(malloc_record(2 * kPage, 20)).write_words(trim_words(30, 101));
  a_.write_words(trim_words(40, 102)).write(malloc_record(3 * kPage, 50));
  b_.write(malloc_record(4 * kPage, 60)).write_words(trim_words(70, 103));
  begin_round(80);
  merge_.work(kEverythingNow);
  EXPECT_EQ(threads(), "abab");
  using schema::SteeringOp;
  EXPECT_EQ(batch_.steering,
            (std::vector<schema::SteeringCall>{{0, 0, SteeringOp::kMallocTrim, 100},
                                               {2, 1, SteeringOp::kMallocTrim, 101},
                                               {2, 0, SteeringOp::kMallocTrim, 102},
                                               {4, 1, SteeringOp::kMallocTrim, 103}}));
}

TEST_F(RingRoundsTest, HaveSteeringOfAThreadBetweenTwoCallsOfAnother) {
  a_.write(malloc_record(kPage, 10)).write(malloc_record(2 * kPage, 50));
  b_.write_words(trim_words(30, 1)).write(malloc_record(3 * kPage, 60));
  begin_round(80);
  merge_.work(kEverythingNow);
  EXPECT_EQ(threads(), "aab");
  ASSERT_EQ(batch_.steering.size(), 1u);
  EXPECT_EQ(batch_.steering[0].event, 1u);
}

TEST_F(RingRoundsTest, KeepSteeringApartFromCallsOfOtherThreadsByTheHundred) {
  for (uint64_t i = 1; i <= 300; ++i) {
    a_.write(malloc_record(i * kPage, 10 * i));
    b_.write(malloc_record((1000 + i) * kPage, 10 * i + 2));
    if (i % 3 == 0) b_.write_words(trim_words(10 * i + 4, i));
  }
  begin_round(5000);
  while (merge_.work(50)) {
  }
  threads();
  ASSERT_EQ(batch_.steering.size(), 100u);
  for (const schema::SteeringCall& call : batch_.steering) {
    EXPECT_EQ(call.event, 2 * static_cast<uint64_t>(call.first));
    EXPECT_EQ(call.thread, 1u);
  }
}

TEST_F(RingRoundsTest, EndWithSteeringOfAProcessThatMakesNoOtherCall) {
  OneThread alone(backlog_, tape_->encoder());
  RingPen& pen = alone.pen;
  RingMerge& merge = alone.merge;
  pen.write_words(trim_words(0, 7)).write(malloc_record(kPage)).write_words(trim_words(0, 8));
  merge.drain(0, kBegin);
  EXPECT_EQ(events(), 1u);
  EXPECT_TRUE(merge.has_written_up_to(0));
  finish();
  ASSERT_EQ(batch_.steering.size(), 2u);
  EXPECT_EQ(batch_.steering[0].event, 0u);
  EXPECT_EQ(batch_.steering[1].event, 1u);
  EXPECT_EQ(batch_.steering[1].first, 8);
}

TEST_F(RingRoundsTest, BreakARingWithSteeringThatDoesNotExist) {
  a_.write_words({uint64_t{200} << kAddressShift | kSteeringOp, 0, 0});
  a_.write(malloc_record(kPage, 10));
  begin_round(20);
  merge_.work(kEverythingNow);
  EXPECT_EQ(threads(), "");
  EXPECT_EQ(summary_.losses.lost_events, 1u);
}

// A call that maps a page.
std::vector<uint64_t> map_words(uint64_t stamp, uint64_t page, uint64_t bytes = kPage) {
  return {mapping_word(page * kPage, true), stamp, bytes, 3,
          uint64_t{0x1000} << kAddressShift | static_cast<uint64_t>(schema::MappingOp::kMap)};
}

// They take time like events.
TEST_F(RingRoundsTest, WithCallsThatMapMemoryAreWorkedOffInPieces) {
  for (uint64_t i = 1; i <= 100; ++i) a_.write_words(map_words(2 * i, 1));
  begin_round(5000);
  for (uint64_t pieces = 1; merge_.work(10); ++pieces) ASSERT_EQ(merge_.written(), 10 * pieces);
  EXPECT_EQ(merge_.written(), 100u);
  EXPECT_EQ(events(), 0u);
}

TEST_F(RingRoundsTest, WithSteeringOfOneThreadAreWorkedOffInPieces) {
  OneThread alone(backlog_, tape_->encoder());
  RingPen& pen = alone.pen;
  RingMerge& merge = alone.merge;
  for (uint64_t i = 1; i <= 100; ++i) pen.write_words(trim_words(0, i));
  merge.begin_round(0, kBegin);
  for (uint64_t pieces = 1; merge.work(10); ++pieces) ASSERT_EQ(merge.written(), 10 * pieces);
  EXPECT_EQ(merge.written(), 100u);
  EXPECT_EQ(merge.rounds_done(), 1u);
}

TEST_F(RingRoundsTest, HaveTheCallsThatMapMemoryInTheirOrder) {
  a_.write_words(map_words(5, 7)).write(malloc_record(kPage, 10));
  b_.write(malloc_record(2 * kPage, 20))
      .write_words(map_words(30, 8))
      .write_words(trim_words(35, 1));
  a_.write_words(map_words(40, 9, UINT64_MAX)).write(malloc_record(3 * kPage, 50));
  begin_round(80);
  merge_.work(kEverythingNow);
  EXPECT_EQ(threads(), "aba");
  using schema::MappingOp;
  EXPECT_EQ(batch_.mapped, (std::vector<schema::MappingCall>{
                               {0, 0, MappingOp::kMap, {7 * kPage, 8 * kPage}, 3, 0},
                               {2, 1, MappingOp::kMap, {8 * kPage, 9 * kPage}, 3, 0},
                               {2, 0, MappingOp::kMap, {9 * kPage, base::kAddressLimit}, 3, 0}}));
  EXPECT_EQ(batch_.steering.size(), 1u);
  merge_.owners().name_callers({{{0, 0x2000}, "mapper"}});
  uint64_t bytes = 0;
  merge_.owners().for_each_in({0, 9 * kPage},
                              [&](base::AddressRange part, const std::string& owner) {
                                EXPECT_EQ(owner, "mapper");
                                bytes += part.bytes();
                              });
  EXPECT_EQ(bytes, 2 * kPage);
}

TEST_F(RingRoundsTest, AreWorkedOffInPieces) {
  for (uint64_t i = 1; i <= 1000; ++i) {
    a_.write(malloc_record(i * kPage, 2 * i));
    b_.write(malloc_record((1000 + i) * kPage, 2 * i + 1));
  }
  begin_round(5000);
  uint64_t pieces = 0;
  for (uint64_t before = 0; merge_.work(1); before = events()) {
    EXPECT_GT(events(), before);
    ++pieces;
  }
  EXPECT_GT(pieces, 2u);
  EXPECT_EQ(merge_.rounds_done(), 1u);
  std::string expected;
  for (int i = 0; i < 1000; ++i) expected += "ab";
  EXPECT_EQ(threads(), expected);
}

TEST_F(RingRoundsTest, OfOneThreadAreWorkedOffInPieces) {
  OneThread alone(backlog_, tape_->encoder());
  RingPen& pen = alone.pen;
  RingMerge& merge = alone.merge;
  for (uint64_t i = 1; i <= 3000; ++i) pen.write(malloc_record(i * kPage));
  merge.begin_round(0, kBegin);
  EXPECT_TRUE(merge.work(1));
  EXPECT_LT(events(), 3000u);
  EXPECT_FALSE(merge.work(kEverythingNow));
  EXPECT_EQ(events(), 3000u);
}

// A mark, or a sample, is of the moment at which its round began.
TEST_F(RingRoundsTest, KeepWhatCameBeforeACutApart) {
  EXPECT_FALSE(merge_.has_written_up_to(20)) << "no round has seen that";
  a_.write(malloc_record(kPage, 10));
  begin_round(20);
  EXPECT_FALSE(merge_.has_written_up_to(20));
  a_.write(malloc_record(2 * kPage, 30));
  begin_round(40);
  for (int i = 0; i < 10 && !merge_.has_written_up_to(20); ++i) merge_.work(1);
  EXPECT_TRUE(merge_.has_written_up_to(20));
  EXPECT_EQ(events(), 1u);
  EXPECT_FALSE(merge_.has_written_up_to(40));
}

TEST_F(RingRoundsTest, DoNotPassAMarkWhoseOwnRoundWasRefused) {
  write_frees(b_, 8 * kSegmentWords);
  begin_round(90);
  a_.write(malloc_record(kPage, 95));
  write_frees(b_, 8 * kSegmentWords);
  EXPECT_FALSE(begin_round(100));
  while (merge_.work(1)) {
  }
  EXPECT_FALSE(merge_.has_written_up_to(100));
  EXPECT_TRUE(begin_round(200));
  EXPECT_FALSE(merge_.has_written_up_to(100)) << "its calls cannot be seen yet";
  merge_.work(kEverythingNow);
  EXPECT_TRUE(merge_.has_written_up_to(100));
}

// A process goes on without us.
TEST_F(RingRoundsTest, AreAllDrainedThoughThereIsNoRoomAndACallIsWaitedFor) {
  wait_without_room();
  EXPECT_FALSE(begin_round(60));
  merge_.drain(60, kBegin);
  merge_.finish_rounds();
  EXPECT_EQ(events(), 3u);
}

// The patience is that of the clock, also when no round can be begun.
TEST_F(RingRoundsTest, WaitNoLongerThoughThereIsNoRoom) {
  wait_without_room();
  EXPECT_FALSE(begin_round(60, kBegin + kPatienceMs * base::kMillisecondNs));
  merge_.work(kEverythingNow);
  EXPECT_EQ(merge_.rounds_done(), 1u);
}

// They died with it, and its last calls wait.
TEST_F(RingRoundsTest, EndNoThreadOfAProcessThatIsGoneByNow) {
  a_.write(malloc_record(kPage, 10));
  b_.write(malloc_record(2 * kPage, 20)).write(malloc_record(3 * kPage, 30));
  begin_round(25);
  begin_round(40);
  merge_.work(1);
  a_.header().lock.word = b_.header().lock.word = slot_.lock.word = tests::kDeadOwner;
  merge_.free_dead_rings();
  merge_.drain(RingMerge::kEverything, kBegin);
  finish();
  EXPECT_EQ(batch_.events.size(), 3u);
  EXPECT_TRUE(batch_.thread_ends.empty());
}

TEST_F(RingRoundsTest, HaveTheTimesAtWhichTheyBegan) {
  a_.write(malloc_record(kPage, 10));
  begin_round(20, kBegin + 7'000'000);
  a_.write(malloc_record(2 * kPage, 30));
  begin_round(40, kBegin + 9'000'000);
  merge_.work(kEverythingNow);
  finish();
  EXPECT_EQ(batch_.times, (std::vector<schema::TimeSample>{{1, 7'000'000}, {2, 9'000'000}}));
}

// Or the calls of other threads between its death and now would stand behind its end.
TEST_F(RingRoundsTest, ShowADeathOnlyWithWhatCameBeforeIt) {
  a_.write(malloc_record(kPage, 10));
  begin_round(20);
  b_.write(malloc_record(2 * kPage, 30));
  begin_round(40);
  a_.header().lock.word = tests::kDeadOwner;
  b_.write(malloc_record(3 * kPage, 50));
  begin_round(60);
  b_.write(malloc_record(4 * kPage, 70));
  begin_round(80);
  merge_.work(kEverythingNow);
  finish();
  EXPECT_EQ(batch_.thread_ends, (std::vector<schema::ThreadEnd>{{2, 0}}));
}

// Threads that ended while their process lived have an end, though it is gone by now.
TEST_F(RingRoundsTest, KnowThatTheProcessWasThere) {
  a_.write(malloc_record(kPage, 10));
  a_.header().lock.word = tests::kDeadOwner;
  begin_round(20);
  b_.write(malloc_record(2 * kPage, 30));
  begin_round(40);
  b_.header().lock.word = tests::kDeadOwner;
  slot_.lock.word = tests::kDeadOwner;
  begin_round(60);
  merge_.drain(RingMerge::kEverything, kBegin);
  finish();
  EXPECT_EQ(batch_.thread_ends, (std::vector<schema::ThreadEnd>{{1, 0}}));
}

TEST_F(RingRoundsTest, AreNotBegunWithoutRoom) {
  write_frees(a_, 10 * kSegmentWords);
  EXPECT_TRUE(begin_round(0)) << "there is no other round";
  write_frees(a_, kSegmentWords);
  EXPECT_FALSE(begin_round(1));
  EXPECT_EQ(merge_.rounds_begun(), 1u);
  EXPECT_NE(a_.header().tail, a_.head());
  EXPECT_FALSE(merge_.has_written_up_to(1));
  merge_.work(kEverythingNow);
  EXPECT_TRUE(begin_round(2));
  EXPECT_EQ(a_.header().tail, a_.head());
}

TEST_F(RingRoundsTest, GiveTheirMemoryBack) {
  for (int i = 0; i < 5; ++i) {
    write_frees(b_, 3 * kSegmentWords);
    merge_.drain(0, kBegin);
    EXPECT_EQ(backlog_.bytes(), 0u);
  }
  write_frees(b_, 1);
  merge_.drain(0, kBegin);
  EXPECT_EQ(backlog_.bytes(), Backlog::kSegmentBytes) << "the segment may get more words";
}

TEST_F(RingRoundsTest, GiveBackWhatIsLeftOfAThread) {
  write_frees(b_, 3 * kSegmentWords + 1);
  begin_round(0);
  a_.write_words({first_word(Op::kFree, kPage, false)});
  begin_round(1);
  EXPECT_EQ(backlog_.bytes(), 5 * Backlog::kSegmentBytes);
  EXPECT_EQ(backlog_.has_room_for(5 * kSegmentWords / 2), true) << "not full ones do not count";
  merge_.free_rings(RingMerge::Free::kAll);
  EXPECT_EQ(backlog_.bytes(), 0u);
}

// What broke the ring is never read: its memory must not stay.
TEST_F(RingRoundsTest, GiveTheMemoryOfABrokenRingBack) {
  b_.write_words({63});
  write_frees(b_, 3 * kSegmentWords);
  merge_.drain(0, kBegin);
  EXPECT_EQ(backlog_.bytes(), 0u);
  write_frees(b_, 1);
  merge_.drain(0, kBegin);
  EXPECT_EQ(b_.header().tail, b_.head());
  EXPECT_EQ(backlog_.bytes(), 0u);
}

// The watch copies between two rounds.
TEST_F(RingRoundsTest, ShowWhatWasCopiedBeforeThem) {
  Backlog backlog;
  RingMerge merge(backlog, session_.view(), 0, tape_->encoder(), kBegin);
  merge.add_ring(0);
  write_frees(a_, kRingWords / 2);
  EXPECT_TRUE(backlog.pull_half_full().has_room);
  EXPECT_FALSE(merge.work(kEverythingNow));
  EXPECT_EQ(events(), 0u);
  merge.begin_round(0, kBegin);
  EXPECT_FALSE(merge.work(kEverythingNow));
  EXPECT_EQ(events(), kRingWords / 2);
}

// A resize whose record is in a later round gave the block up.
TEST_F(RingRoundsTest, RepairAnInversionWithALaterRound) {
  a_.write(malloc_record(kPage, 10));
  b_.write(malloc_record(kPage, 30));
  begin_round(40);
  a_.write(realloc_record(kPage, 2 * kPage, 20, 50));
  begin_round(60);
  merge_.work(kEverythingNow);
  EXPECT_EQ(threads(), "aab");
  EXPECT_EQ(summary_.repaired_inversions, 1u);
}

// The first round waits for what is yet to be logged, and with it the second.
TEST_F(RingRoundsTest, WaitInTheirOrder) {
  a_.write(malloc_record(kPage, 10));
  a_.header().resizing = kPage;
  b_.write(malloc_record(kPage, 30));
  begin_round(40);
  EXPECT_FALSE(merge_.work(kEverythingNow)) << "nothing to do for now";
  b_.write(malloc_record(3 * kPage, 45));
  begin_round(46);
  EXPECT_FALSE(merge_.work(kEverythingNow));
  EXPECT_EQ(merge_.rounds_done(), 0u);
  a_.write(realloc_record(kPage, 2 * kPage, 20, 50));
  a_.header().resizing = 0;
  EXPECT_FALSE(merge_.work(kEverythingNow));
  EXPECT_EQ(merge_.rounds_done(), 2u);
  EXPECT_EQ(threads(), "aabb");
}

// Nobody is left who could log it.
TEST_F(RingRoundsTest, WaitForNothingOnceTheProcessIsGone) {
  a_.write(malloc_record(kPage, 10));
  a_.header().resizing = kPage;
  b_.write(malloc_record(kPage, 30)).write(malloc_record(3 * kPage, 45));
  begin_round(40);
  merge_.work(kEverythingNow);
  EXPECT_EQ(merge_.drain(RingMerge::kEverything, kBegin), 2u);
  EXPECT_EQ(threads(), "abb");
}

TEST_F(RingRoundsTest, AreFinishedWithoutWaiting) {
  a_.write(malloc_record(kPage, 10)).write(malloc_record(2 * kPage, 11));
  a_.header().resizing = kPage;
  b_.write(malloc_record(kPage, 30)).write(malloc_record(3 * kPage, 45));
  begin_round(40);
  begin_round(50);
  merge_.work(kEverythingNow);
  EXPECT_EQ(events(), 2u);
  merge_.finish_rounds();
  EXPECT_FALSE(merge_.has_rounds());
  EXPECT_EQ(threads(), "aabb");
}

// A tape whose file is behind for an hour must not take memory for each millisecond.
TEST_F(RingRoundsTest, AreLongerWhereManyWait) {
  uint64_t now_ns = kBegin;
  for (uint64_t ms = 0; ms < 10'000; ++ms) begin_round(ms, now_ns += base::kMillisecondNs);
  EXPECT_GE(merge_.rounds_begun(), 1000u);
  EXPECT_LE(merge_.rounds_begun(), 1100u);
  merge_.work(kEverythingNow);
  EXPECT_TRUE(begin_round(10'001, now_ns += base::kMillisecondNs));
}

TEST_F(RingRoundsTest, WaitNoLongerThanTheyMay) {
  a_.write(malloc_record(kPage, 10));
  a_.header().resizing = kPage;
  b_.write(malloc_record(kPage, 30));
  begin_round(40);
  merge_.work(kEverythingNow);
  begin_round(41, kBegin + (kPatienceMs - 1) * base::kMillisecondNs);
  merge_.work(kEverythingNow);
  EXPECT_EQ(merge_.rounds_done(), 0u);
  begin_round(42, kBegin + kPatienceMs * base::kMillisecondNs);
  merge_.work(kEverythingNow);
  EXPECT_EQ(merge_.rounds_done(), 3u);
  finish();
  EXPECT_EQ(summary_.losses.unrepaired_inversions, 1u);
}

}  // namespace
}  // namespace heaptape::recorder
