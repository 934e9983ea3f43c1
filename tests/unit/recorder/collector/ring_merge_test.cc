// What the merge makes of rings; see docs/decisions/0002-order.md. The tests set stamps and times,
// so nothing here waits. Over 600 lines, because one fixture serves all of them.
#include "recorder/collector/ring_merge.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/fake_session.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::recorder {
namespace {

using tests::free_record;
using tests::malloc_record;
using tests::realloc_record;
using tests::RingPen;

constexpr uint64_t kEverything = RingMerge::kEverything;
constexpr uint64_t kBeginNs = 1'000'000'000;
constexpr uint64_t kX = 0x1000, kY = 0x2000, kZ = 0x3000;

class RingMergeTest : public testing::Test {
 protected:
  RingMergeTest() {
    merge_.add_ring(0);
    merge_.add_ring(1);
  }
  std::unique_ptr<schema::TapeWriter> create_tape() {
    return std::move(*schema::TapeWriter::create(dir_.file("t"), tests::sample_header()));
  }
  uint64_t drain(uint64_t cut, uint64_t now_ns = kBeginNs) { return merge_.drain(cut, now_ns); }
  // Each of `length` threads moves its block to where that of the next one was; then thread a gets
  // the block of the first.
  void write_chain_of_resizes(uint64_t length) {
    const auto block = [](uint64_t i) { return (i + 1) * 0x1000; };
    for (uint32_t i = 0; i < length; ++i) {
      merge_.add_ring(2 + i);
      RingPen(session_, 2 + i)
          .write(malloc_record(block(i), 1 + i))
          .write(realloc_record(block(i), block(i + 1), 20, 60 - i));
    }
    a_.write(malloc_record(block(0), 40));
  }
  void kill_both() {
    a_.header().lock.word = tests::kDeadOwner;
    b_.header().lock.word = tests::kDeadOwner;
  }
  void finish() {
    merge_.finish_times();
    const auto summary = merge_.collect_summary(kBeginNs + 5);
    ASSERT_TRUE(tape_->finish(summary).ok());
    auto reader = schema::TapeReader::open(dir_.file("t"));
    ASSERT_TRUE(reader.ok()) << reader.error().message;
    summary_ = *reader->summary();
    schema::EventBatch batch;
    ASSERT_TRUE(reader->read(batch, 100000).ok());
    events_ = std::move(batch.events);
    times_ = std::move(batch.times);
    ends_ = std::move(batch.thread_ends);
  }
  // "a+1 b-1": the thread's letter, -what it freed, +what it got.
  std::string story() {
    finish();
    std::string text;
    for (const schema::Event& event : events_) {
      text += static_cast<char>('a' + event.thread);
      if (event.freed_address != 0) text += "-" + std::to_string(event.freed_address >> 12);
      if (event.address != 0) text += "+" + std::to_string(event.address >> 12);
      text += " ";
    }
    return text;
  }

  tests::FakeSession session_;
  ProcessSlot& slot_ = session_.join(0, 42);
  tests::TempDir dir_;
  std::unique_ptr<schema::TapeWriter> tape_ = create_tape();
  Backlog backlog_;
  RingMerge merge_{backlog_, session_.view(), 0, tape_->encoder(), kBeginNs};
  RingPen a_{session_, 0};
  RingPen b_{session_, 1};
  schema::TapeSummary summary_;
  std::vector<schema::Event> events_;
  std::vector<schema::TimeSample> times_;
  std::vector<schema::ThreadEnd> ends_;
};

TEST_F(RingMergeTest, MergesInTheOrderOfStamps) {
  a_.write(malloc_record(0x1000, 10)).write(malloc_record(0x4000, 40));
  b_.write(malloc_record(0x2000, 20)).write(malloc_record(0x3000, 30));
  EXPECT_EQ(drain(100), 4u);
  EXPECT_EQ(story(), "a+1 b+2 b+3 a+4 ");
}

TEST_F(RingMergeTest, HoldsBackWhatIsAboveTheCut) {
  a_.write(malloc_record(0x1000, 10)).write(malloc_record(0x3000, 30));
  EXPECT_EQ(drain(10), 1u);
  b_.write(malloc_record(0x2000, 20));
  EXPECT_EQ(drain(29), 1u);
  EXPECT_EQ(drain(30), 1u);
  EXPECT_EQ(story(), "a+1 b+2 a+3 ");
}

TEST_F(RingMergeTest, AddsUpWhatWasAskedFor) {
  a_.write(malloc_record(kX, 10, 100)).write(realloc_record(kX, kY, 11, 12));  // for 64 bytes
  b_.write(malloc_record(0, 13, 1000)).write(free_record(kY, 14)).write(malloc_record(kX, 15, 7));
  drain(100);
  EXPECT_EQ(merge_.asked_bytes(), 171u) << "a call that failed gave nothing";
}

TEST_F(RingMergeTest, PutsUnstampedRecordsFirst) {
  b_.write(malloc_record(0x3000, 5));
  a_.write(malloc_record(0x1000)).write(free_record(0x1000)).write(malloc_record(0x4000, 6));
  EXPECT_EQ(drain(100), 4u);
  EXPECT_EQ(story(), "a+1 a-1 b+3 a+4 ");
}

TEST_F(RingMergeTest, KeepsSizesAndAlignments) {
  Record aligned = malloc_record(0x1000, 10, 77);
  aligned.op = Op::kMemalign;
  aligned.alignment = 512;
  a_.write(aligned).write(realloc_record(0x1000, 0x2000, 11, 12));
  drain(100);
  finish();
  EXPECT_EQ(events_[0], (schema::Event{Op::kMemalign, 0, 77, 512, 0x1000, 0}));
  EXPECT_EQ(events_[1], (schema::Event{Op::kRealloc, 0, 64, 0, 0x2000, 0x1000}));
}

TEST_F(RingMergeTest, OrdersAResizeByItsEnd) {
  a_.write(malloc_record(kX, 1)).write(realloc_record(kX, kY, 10, 40));
  b_.write(malloc_record(kZ, 20));
  drain(100);
  EXPECT_EQ(story(), "a+1 b+3 a-1+2 ");
  EXPECT_EQ(summary_.repaired_inversions, 0u);
}

TEST_F(RingMergeTest, PutsAResizeBeforeTheCallThatGotItsBlock) {
  a_.write(malloc_record(kX, 1)).write(realloc_record(kX, kY, 10, 40));
  b_.write(malloc_record(kX, 30));
  drain(100);
  EXPECT_EQ(story(), "a+1 a-1+2 b+1 ");
  EXPECT_EQ(summary_.repaired_inversions, 1u);
  EXPECT_EQ(summary_.losses.unrepaired_inversions, 0u);
}

TEST_F(RingMergeTest, PutsChainsOfResizesInOrder) {
  RingPen c(session_, 2);
  merge_.add_ring(2);
  a_.write(malloc_record(kX, 1)).write(realloc_record(kX, kY, 10, 60));
  b_.write(malloc_record(kY, 2)).write(realloc_record(kY, kZ, 9, 50));
  c.write(malloc_record(kX, 40));
  drain(100);
  EXPECT_EQ(story(), "a+1 b+2 b-2+3 a-1+2 c+1 ");
  EXPECT_EQ(summary_.repaired_inversions, 2u);
}

TEST_F(RingMergeTest, WaitsForAChainOfResizesUntilAllAreLogged) {
  RingPen c(session_, 2);
  merge_.add_ring(2);
  a_.write(malloc_record(kX, 1)).write(realloc_record(kX, kY, 10, 40));
  b_.write(malloc_record(kY, 2));
  c.write(malloc_record(kX, 30));
  b_.header().resizing = kY;
  EXPECT_EQ(drain(35), 2u);
  b_.write(realloc_record(kY, kZ, 9, 50));
  EXPECT_EQ(drain(60), 3u);
  EXPECT_EQ(story(), "a+1 b+2 b-2+3 a-1+2 c+1 ");
  EXPECT_EQ(summary_.losses.unrepaired_inversions, 0u);
}

// What is held back may have returned before somebody asks for a mark.
TEST_F(RingMergeTest, KnowsUpToWhereItHasWritten) {
  a_.write(malloc_record(kX, 1));
  b_.write(malloc_record(kX, 30)).write(malloc_record(kZ, 35));
  a_.header().resizing = kX;
  EXPECT_EQ(drain(40), 1u);
  EXPECT_TRUE(merge_.has_written_up_to(29));
  EXPECT_FALSE(merge_.has_written_up_to(30));
  EXPECT_FALSE(merge_.has_written_up_to(40));
  a_.write(realloc_record(kX, kY, 10, 50));
  EXPECT_EQ(drain(60), 3u);
  EXPECT_TRUE(merge_.has_written_up_to(60));
}

// So that the merge does not run through rings upon rings for one call.
TEST_F(RingMergeTest, FollowsChainsOfResizesEightDeep) {
  write_chain_of_resizes(8);
  drain(kEverything);
  EXPECT_EQ(merge_.collect_summary(kBeginNs).losses.unrepaired_inversions, 0u);
}

TEST_F(RingMergeTest, FollowsNoChainOfNineResizes) {
  write_chain_of_resizes(9);
  EXPECT_EQ(drain(kEverything), 2 * 9u + 1);
  EXPECT_EQ(merge_.collect_summary(kBeginNs).losses.unrepaired_inversions, 1u);
}

// No allocator does that; a broken program's rings may say so.
TEST_F(RingMergeTest, ComesToAnEndWhenResizesWaitForEachOther) {
  RingPen c(session_, 2);
  merge_.add_ring(2);
  a_.write(malloc_record(kX, 1)).write(realloc_record(kX, kY, 10, 40));
  b_.write(malloc_record(kY, 2)).write(realloc_record(kY, kX, 11, 41));
  c.write(malloc_record(kX, 30));
  drain(kEverything);
  EXPECT_EQ(story(), "a+1 b+2 b-2+1 a-1+2 c+1 ");
  EXPECT_GT(summary_.losses.unrepaired_inversions, 0u);
}

TEST_F(RingMergeTest, DoesNotPullAResizeThatBeganTooLate) {
  a_.write(malloc_record(kX, 1)).write(realloc_record(kX, kY, 31, 40));
  b_.write(malloc_record(kX, 30));
  drain(kEverything);
  EXPECT_EQ(story(), "a+1 b+1 a-1+2 ");
  EXPECT_EQ(summary_.losses.unrepaired_inversions, 1u);
}

TEST_F(RingMergeTest, WaitsForAResizeThatIsYetToBeLogged) {
  a_.write(malloc_record(kX, 1));
  b_.write(malloc_record(kX, 30)).write(free_record(kX, 31));
  a_.header().resizing = kX;
  EXPECT_EQ(drain(35), 1u);
  a_.write(realloc_record(kX, kY, 10, 40));
  EXPECT_EQ(drain(50), 3u);
  EXPECT_EQ(story(), "a+1 a-1+2 b+1 b-1 ");
}

TEST_F(RingMergeTest, PutsAResizeBeyondTheCutBeforeTheCallThatGotItsBlock) {
  a_.write(malloc_record(kX, 1)).write(realloc_record(kX, kY, 10, 40));
  b_.write(malloc_record(kX, 30));
  EXPECT_EQ(drain(35), 3u);
  EXPECT_EQ(story(), "a+1 a-1+2 b+1 ");
}

TEST_F(RingMergeTest, WaitsNoLongerThanItsPatience) {
  constexpr uint64_t kPatienceNs = 100'000'000;
  a_.write(malloc_record(kX, 1));
  b_.write(malloc_record(kX, 30));
  a_.header().resizing = kX;
  EXPECT_EQ(drain(35, kBeginNs), 1u);
  EXPECT_EQ(drain(35, kBeginNs + kPatienceNs - 1), 0u);
  EXPECT_EQ(drain(35, kBeginNs + kPatienceNs), 1u);
  finish();
  EXPECT_EQ(summary_.losses.unrepaired_inversions, 1u);
}

// A free that was lost, or made where no hook is: nobody will ever log it.
TEST_F(RingMergeTest, WaitsForNobodyWhenNoResizeIsUnderWay) {
  a_.write(malloc_record(kX, 1));
  b_.write(malloc_record(kX, 30));
  a_.header().resizing = kY;
  EXPECT_EQ(drain(35), 2u);
  finish();
  EXPECT_EQ(summary_.losses.unrepaired_inversions, 1u);
}

// Its thread left the resize by a jump, say.
TEST_F(RingMergeTest, WaitsOnceForAResizeThatNeverEnds) {
  a_.write(malloc_record(kX, 1));
  b_.write(malloc_record(kX, 30)).write(malloc_record(kX, 31));
  a_.header().resizing = kX;
  EXPECT_EQ(drain(35, kBeginNs), 1u);
  EXPECT_EQ(drain(35, kBeginNs + 100'000'000), 2u);
}

TEST_F(RingMergeTest, WaitsAgainForAThreadThatHasLoggedSince) {
  a_.write(malloc_record(kX, 1));
  b_.write(malloc_record(kX, 30));
  a_.header().resizing = kX;
  drain(35, kBeginNs);
  drain(35, kBeginNs + 100'000'000);
  a_.write(malloc_record(kY, 40));
  b_.write(malloc_record(kX, 50));
  EXPECT_EQ(drain(60, kBeginNs + 200'000'000), 1u);
}

TEST_F(RingMergeTest, WaitsForNobodyWhenTheProcessIsGone) {
  a_.write(malloc_record(kX, 1));
  b_.write(malloc_record(kX, 30));
  a_.header().resizing = kX;
  EXPECT_EQ(drain(kEverything), 2u);
  finish();
  EXPECT_EQ(summary_.losses.unrepaired_inversions, 1u);
}

// The resize began and ended before its thread saw that it has company.
TEST_F(RingMergeTest, WaitsNoMoreWhenTheResizeComesUnstamped) {
  a_.write(malloc_record(kX));
  b_.write(malloc_record(kX, 30));
  a_.header().resizing = kX;
  EXPECT_EQ(drain(35), 1u);
  a_.write(realloc_record(kX, kY));
  EXPECT_EQ(drain(40), 2u);
  EXPECT_EQ(story(), "a+1 a-1+2 b+1 ");
}

TEST_F(RingMergeTest, CountsFreesOfBlocksThatNobodyGot) {
  a_.write(free_record(kX, 1)).write(free_record(0, 2)).write(malloc_record(kX, 3));
  a_.write(free_record(kX, 4));
  drain(100);
  finish();
  EXPECT_EQ(summary_.unknown_frees, 1u);
  EXPECT_EQ(events_.size(), 4u);
}

TEST_F(RingMergeTest, KnowsThatAFailedResizeGivesNothingUp) {
  a_.write(malloc_record(kX, 1)).write(realloc_record(kX, 0, 2, 3)).write(free_record(kX, 4));
  drain(100);
  finish();
  EXPECT_EQ(summary_.unknown_frees, 0u);
  EXPECT_EQ(summary_.failed, 1u);
}

TEST_F(RingMergeTest, KnowsThatAResizeToNothingGivesItsBlockUp) {
  Record to_nothing = realloc_record(kX, 0, 2, 3);
  to_nothing.size = 0;
  a_.write(malloc_record(kX, 1)).write(to_nothing).write(malloc_record(kX, 4));
  EXPECT_EQ(drain(100), 3u);  // waits for nobody to give kX up
  EXPECT_EQ(story(), "a+1 a-1 a+1 ");
  EXPECT_EQ(summary_.losses.unrepaired_inversions, 0u);
}

TEST_F(RingMergeTest, KnowsThatAResizeInPlaceChangesNothing) {
  a_.write(malloc_record(kX, 1)).write(realloc_record(kX, kX, 2, 3)).write(free_record(kX, 4));
  drain(100);
  finish();
  EXPECT_EQ(summary_.unknown_frees + summary_.losses.unrepaired_inversions, 0u);
}

TEST_F(RingMergeTest, SumsUpWhatSlotAndRingsCounted) {
  slot_.nested = 5;
  slot_.bootstrap = 6;
  slot_.lost_ringless = 7;
  slot_.lost_interrupted = 1000;
  a_.header().lost_full = 10;
  b_.header().lost_stopped = 100;
  a_.header().stalls = 2;
  b_.header().stall_ns = 3;
  finish();
  EXPECT_EQ(summary_.nested_calls, 5u);
  EXPECT_EQ(summary_.bootstrap_calls, 6u);
  EXPECT_EQ(summary_.losses.lost_events, 1117u);
  EXPECT_EQ(summary_.losses.causes, (schema::LossCauses{10, 100, 7, 1000}));
  EXPECT_EQ(summary_.stalls, 2u);
  EXPECT_EQ(summary_.stall_ns, 3u);
}

TEST_F(RingMergeTest, FreesTheRingsOfDeadThreadsOnly) {
  RingPen c(session_, 2, 0, tests::kDeadOwner);
  merge_.add_ring(2);
  drain(10);
  EXPECT_EQ(merge_.free_dead_rings(), std::vector<uint32_t>{2});
  EXPECT_EQ(c.header().state, RingState::kFree);
  EXPECT_EQ(a_.header().state, RingState::kOwned);
}

TEST_F(RingMergeTest, KeepsADeadThreadsRingUntilItIsRead) {
  kill_both();
  a_.write(malloc_record(kX, 50));
  b_.write(malloc_record(kY, 10));
  drain(20);
  EXPECT_EQ(merge_.free_dead_rings(), std::vector<uint32_t>{1});
  drain(60);
  EXPECT_EQ(merge_.free_dead_rings(), std::vector<uint32_t>{0});
  EXPECT_EQ(story(), "b+2 a+1 ");
}

TEST_F(RingMergeTest, KeepsADeadThreadsRingThatIsWrittenAtTheLastMoment) {
  drain(40);
  a_.write(malloc_record(kX, 50));
  kill_both();
  EXPECT_TRUE(merge_.free_dead_rings().empty()) << "no drain has seen that they are dead";
  drain(60);
  EXPECT_EQ(merge_.free_dead_rings(), (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(story(), "a+1 ");
}

TEST_F(RingMergeTest, KeepsTheCountsOfFreedRings) {
  a_.header().lost_full = 10;
  a_.header().stalls = 2;
  a_.header().stall_ns = 3;
  kill_both();
  drain(10);
  merge_.free_dead_rings();
  finish();
  EXPECT_EQ(summary_.losses.lost_events, 10u);
  EXPECT_EQ(summary_.stalls, 2u);
  EXPECT_EQ(summary_.stall_ns, 3u);
}

TEST_F(RingMergeTest, GivesEachThreadANumberOfItsOwnInAReusedRing) {
  a_.write(malloc_record(kX, 10));
  kill_both();
  drain(20);
  merge_.free_dead_rings();
  RingPen again(session_, 0);
  merge_.add_ring(0);
  again.write(free_record(kX, 30));
  drain(40);
  EXPECT_EQ(story(), "a+1 c-1 ");
}

TEST_F(RingMergeTest, CountsACorruptRingAsALossAndReadsTheOthers) {
  a_.write(malloc_record(kX, 10)).write_words({63}).write(malloc_record(kY, 11));
  b_.write(malloc_record(kZ, 12));
  EXPECT_EQ(drain(100), 2u);
  EXPECT_EQ(story(), "a+1 b+3 ");
  EXPECT_EQ(summary_.losses.lost_events, 1u);
}

// More than are merged at a time, and in turns that are longer than a segment of each.
TEST_F(RingMergeTest, MergesManyBusyRings) {
  constexpr uint32_t kThreads = 20;
  constexpr uint64_t kCalls = 400;
  std::vector<RingPen> pens{a_, b_};
  for (uint32_t i = 2; i < kThreads; ++i) {
    merge_.add_ring(i);
    pens.emplace_back(session_, i);
  }
  tests::Random random(1);
  std::vector<uint32_t> turns;
  for (uint64_t i = 1; i <= kThreads * kCalls; ++i) {
    turns.push_back(static_cast<uint32_t>(random.below(kThreads)));
    pens[turns.back()].write(free_record(i * 16, i));
  }
  EXPECT_EQ(drain(kEverything - 1), kThreads * kCalls);
  finish();
  for (size_t i = 0; i < events_.size(); ++i) {
    ASSERT_EQ(events_[i].freed_address, (i + 1) * 16);
    ASSERT_EQ(events_[i].thread, turns[i]);
  }
}

// It ended in the middle of what others did, all of which is read at once.
TEST_F(RingMergeTest, EndsAThreadBetweenTheCallsOfOthers) {
  merge_.add_ring(2);
  RingPen c(session_, 2);
  for (uint64_t i = 0; i < 5; ++i) {
    a_.write(free_record(kX, 10 + 10 * i));
    c.write(free_record(kZ, 11 + 10 * i));
  }
  b_.write(free_record(kY, 12)).write(free_record(kY, 25));
  b_.header().lock.word = tests::kDeadOwner;
  drain(100);
  finish();
  ASSERT_EQ(events_.size(), 12u);
  EXPECT_EQ(events_[5].thread, 1u);
  EXPECT_EQ(ends_, (std::vector<schema::ThreadEnd>{{6, 1}}));
}

// A realloc that is logged late, in the middle of a run of several rings.
TEST_F(RingMergeTest, RepairsAnInversionBetweenTheCallsOfOthers) {
  merge_.add_ring(2);
  RingPen c(session_, 2);
  a_.write(malloc_record(kX, 10)).write(realloc_record(kX, kY, 20, 50)).write(free_record(kY, 60));
  b_.write(malloc_record(kZ, 15)).write(malloc_record(kX, 30)).write(free_record(kX, 40));
  c.write(malloc_record(0x9000, 16))
      .write(free_record(0x9000, 35))
      .write(malloc_record(0x8000, 45));
  EXPECT_EQ(drain(100), 9u);
  EXPECT_EQ(story(), "a+1 b+3 c+9 a-1+2 b+1 c-9 b-1 c+8 a-2 ");
  EXPECT_EQ(summary_.repaired_inversions, 1u);
}

TEST_F(RingMergeTest, CountsTheLossOfABrokenRingWhoseThreadIsGone) {
  a_.header().head = kRingWords + 1;
  drain(100);
  kill_both();
  EXPECT_TRUE(merge_.free_dead_rings().empty()) << "no drain has seen that";
  drain(100);
  EXPECT_EQ(merge_.free_dead_rings(), (std::vector<uint32_t>{0, 1}));
  finish();
  EXPECT_EQ(summary_.losses.lost_events, 1u);
}

TEST_F(RingMergeTest, PlacesEventsInTime) {
  a_.write(malloc_record(kX, 10));
  drain(100, kBeginNs + 7);
  drain(100, kBeginNs + 8);
  a_.write(free_record(kX, 101));
  drain(kEverything, kBeginNs + 9);
  finish();
  EXPECT_EQ(times_, (std::vector<schema::TimeSample>{{1, 7}, {2, 9}}));
  EXPECT_EQ(summary_.duration_ns, 5u);
}

TEST_F(RingMergeTest, EndsAThreadBehindItsLastCall) {
  a_.write(malloc_record(kX, 10)).write(malloc_record(kZ, 30));
  b_.write(malloc_record(kY, 20));
  b_.header().lock.word = tests::kDeadOwner;
  drain(100);
  finish();
  EXPECT_EQ(ends_, (std::vector<schema::ThreadEnd>{{2, 1}}));
}

TEST_F(RingMergeTest, EndsAThreadBeforeTheFirstCallOfOneThatCameAfter) {
  b_.write(malloc_record(kY, 20));
  drain(25);
  b_.header().lock.word = tests::kDeadOwner;
  RingPen(session_, 2).write(malloc_record(kX, 30));
  merge_.add_ring(2);
  drain(100);
  finish();
  EXPECT_EQ(ends_, (std::vector<schema::ThreadEnd>{{1, 1}}));
}

TEST_F(RingMergeTest, EndsNoThreadThatHasCallsAboveTheCut) {
  b_.write(malloc_record(kY, 20)).write(malloc_record(kZ, 40));
  b_.header().lock.word = tests::kDeadOwner;
  a_.write(malloc_record(kX, 30));
  drain(35);
  a_.write(free_record(kX, 50));
  drain(100);
  finish();
  EXPECT_EQ(ends_, (std::vector<schema::ThreadEnd>{{3, 1}}));
}

TEST_F(RingMergeTest, EndsThreadsInTheOrderOfTheirLastCalls) {
  a_.write(malloc_record(kX, 10)).write(malloc_record(kZ, 30));
  b_.write(malloc_record(kY, 20));
  drain(40);
  kill_both();
  RingPen(session_, 2).write(malloc_record(0x9000, 50));
  merge_.add_ring(2);
  drain(100);
  finish();
  EXPECT_EQ(ends_, (std::vector<schema::ThreadEnd>{{3, 1}, {3, 0}}));
}

TEST_F(RingMergeTest, EndsNoThreadThatDiesWithItsProcess) {
  a_.write(malloc_record(kX, 10));
  drain(20);
  kill_both();
  drain(30);
  drain(kEverything);
  finish();
  EXPECT_EQ(ends_, std::vector<schema::ThreadEnd>{});
}

TEST_F(RingMergeTest, EndsNoThreadOfADeadProcessThatLeftCalls) {
  a_.write(malloc_record(kX, 10));
  drain(20);
  b_.write(malloc_record(kY, 30));
  kill_both();
  slot_.lock.word = tests::kDeadOwner;
  drain(40);
  drain(kEverything);
  finish();
  EXPECT_EQ(events_.size(), 2u);
  EXPECT_EQ(ends_, std::vector<schema::ThreadEnd>{});
}

TEST_F(RingMergeTest, EndsAThreadThatItsIdleProcessOutlives) {
  a_.write(malloc_record(kX, 10));
  drain(20);
  a_.header().lock.word = tests::kDeadOwner;
  drain(30);
  drain(40, kBeginNs + 2000 * base::kMillisecondNs);
  finish();
  EXPECT_EQ(ends_, (std::vector<schema::ThreadEnd>{{1, 0}}));
}

// A busy machine may stop a thread between its first lock and its second.
TEST_F(RingMergeTest, EndsNoThreadWhoseProcessMayBeOnItsWayOut) {
  a_.write(malloc_record(kX, 10));
  drain(20);
  kill_both();
  drain(30);
  drain(40, kBeginNs + 500 * base::kMillisecondNs);
  slot_.lock.word = tests::kDeadOwner;
  drain(kEverything, kBeginNs + 5000 * base::kMillisecondNs);
  finish();
  EXPECT_EQ(ends_, std::vector<schema::ThreadEnd>{});
}

TEST_F(RingMergeTest, EndsAThreadWhoseRingItFrees) {
  a_.write(malloc_record(kX, 10));
  drain(20);
  a_.header().lock.word = tests::kDeadOwner;
  drain(25);
  EXPECT_EQ(merge_.free_dead_rings(), std::vector<uint32_t>{0});
  b_.write(malloc_record(kY, 30));
  drain(100);
  finish();
  EXPECT_EQ(ends_, (std::vector<schema::ThreadEnd>{{1, 0}}));
}

TEST_F(RingMergeTest, GivesItsRingsBackAtTheEnd) {
  merge_.free_rings(RingMerge::Free::kAll);
  EXPECT_EQ(a_.header().state, RingState::kFree);
  EXPECT_EQ(owner_state(a_.header().lock), OwnerState::kNone);
}

TEST(RingMergeOfOneThread, TakesTheRingsOrder) {
  tests::FakeSession session;
  session.join(0, 42);
  RingPen pen(session, 0);
  tests::TempDir dir;
  auto writer = schema::TapeWriter::create(dir.file("t"), tests::sample_header());
  Backlog backlog;
  RingMerge merge(backlog, session.view(), 0, (*writer)->encoder(), 0);
  merge.add_ring(0);
  pen.write(malloc_record(kX)).write(free_record(kX)).write(malloc_record(kX));
  EXPECT_EQ(merge.drain(0, 1), 3u);
  pen.write(free_record(kX));
  EXPECT_EQ(merge.drain(0, 2), 1u);
  EXPECT_EQ(merge.collect_summary(3).unknown_frees, 0u);
  EXPECT_EQ(pen.header().tail, pen.head());
}

}  // namespace
}  // namespace heaptape::recorder
