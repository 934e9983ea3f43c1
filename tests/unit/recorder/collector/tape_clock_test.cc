#include "recorder/collector/tape_clock.h"

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "schema/tape/tape_writer.h"
#include "tests/support/fake_session.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::recorder {
namespace {

using Times = std::vector<schema::TimeSample>;

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kStartNs = 1000 * kMs;
constexpr uint64_t kTicksPerMs = 3000;
constexpr bool kStamp = true, kMark = false;

class TapeClockTest : public testing::Test {
 protected:
  static const Board& with_tsc(Board& board) {
    board.clock = Clock::kTsc;
    board.ticks_per_ms = kTicksPerMs;
    return board;
  }
  // At `ms` since the start, when the TSC was kTicksPerMs times that.
  void begin_drain(uint64_t ms) { clock_.begin_drain(ms * kTicksPerMs, kStartNs + ms * kMs); }
  void call(uint64_t ticks = 0, bool is_stamp = kMark) {
    clock_.note_call(ticks, is_stamp);
    tape_->append(tests::malloc_event(1, 0x1000));
  }
  // The same, of many with a stamp.
  void calls(std::span<const uint64_t> stamps) {
    while (!stamps.empty()) {
      const size_t without_time = clock_.note_calls_without_time(stamps);
      for (size_t i = 0; i < without_time; ++i) tape_->append(tests::malloc_event(1, 0x1000));
      stamps = stamps.subspan(without_time);
      if (stamps.empty()) return;
      call(stamps[0], kStamp);
      stamps = stamps.subspan(1);
    }
  }
  void drain_calls(uint64_t ms, uint64_t calls) {
    begin_drain(ms);
    if (calls != 0) clock_.end_pause();
    for (uint64_t i = 0; i < calls; ++i) call();
    clock_.end_drain(calls);
  }
  Times times() {
    EXPECT_TRUE(tape_->finish({}).ok());
    auto reader = schema::TapeReader::open(dir_.file("t"));
    schema::EventBatch batch;
    EXPECT_TRUE(reader->read(batch, 100'000).ok());
    return batch.times;
  }

  tests::TempDir dir_;
  std::unique_ptr<schema::TapeWriter> tape_ =
      std::move(*schema::TapeWriter::create(dir_.file("t"), tests::sample_header()));
  tests::FakeSession session_;
  TapeClock clock_{with_tsc(session_.board()), tape_->encoder(), kStartNs};
};

TEST_F(TapeClockTest, GivesEveryFewHundredCallsTheirTime) {
  begin_drain(10);
  for (uint64_t i = 0; i < 2 * TapeClock::kCallsPerTime; ++i) call(3000 + i * 3, kStamp);
  EXPECT_EQ(times(), (Times{{0, kMs}, {512, kMs + 512'000}}));
}

TEST_F(TapeClockTest, GivesCallsTheSameTimesWhetherTheyAreManyOrOne) {
  std::vector<uint64_t> stamps;
  uint64_t at = kTicksPerMs;
  for (uint64_t i = 0; i < 3 * TapeClock::kCallsPerTime; ++i) {
    at += i % 700 == 699 ? 2 * kTicksPerMs : i % 50;  // pauses that end where no time is due
    stamps.push_back(at);
  }
  begin_drain(1000);
  calls(stamps);
  clock_.end_drain(stamps.size());
  class Other : public TapeClockTest {
   public:
    Times times_of(std::span<const uint64_t> all) {
      begin_drain(1000);
      for (const uint64_t stamp : all) call(stamp, kStamp);
      clock_.end_drain(all.size());
      return times();
    }

   private:
    void TestBody() override {}
  };
  const Times many = times();
  EXPECT_EQ(many, Other().times_of(stamps));
  EXPECT_GE(many.size(), 7u) << "three, two pauses, and the last";
}

TEST_F(TapeClockTest, NotesManyCallsWithoutATscAsCallsWithoutATime) {
  clock_.begin_drain(TapeClock::kNoCut, kStartNs + kMs);
  const std::vector<uint64_t> stamps(600, 5);
  EXPECT_EQ(clock_.note_calls_without_time(stamps), 600u);
}

TEST_F(TapeClockTest, TellsAPauseBetweenTwoStamps) {
  begin_drain(100);
  call(3000, kStamp);
  call(3300, kStamp);
  call(300'000, kStamp);
  EXPECT_EQ(times(), (Times{{0, kMs}, {2, 1'100'000}, {2, 100 * kMs}}));
}

TEST_F(TapeClockTest, TakesTheTimeBetweenTwoMarksForThatOfTheCallsInBetween) {
  begin_drain(100);
  call(3000, kMark);
  call();
  call(300'000, kMark);
  EXPECT_EQ(times(), (Times{{0, kMs}, {2, 100 * kMs}}));
}

TEST_F(TapeClockTest, TellsAPauseThatTheDrainsSaw) {
  drain_calls(5, 3);
  for (const uint64_t ms : {6, 16, 60'000}) drain_calls(ms, 0);
  drain_calls(60'010, 2);
  EXPECT_EQ(times(), (Times{{3, 5 * kMs}, {3, 60'000 * kMs}, {5, 60'010 * kMs}}));
}

TEST_F(TapeClockTest, LeavesFrequentDrainsOut) {
  drain_calls(5, 3);
  begin_drain(5);
  call();
  clock_.end_drain(1);
  EXPECT_EQ(times(), (Times{{3, 5 * kMs}}));
}

TEST_F(TapeClockTest, EndsWithTheProcess) {
  drain_calls(5, 3);
  clock_.begin_drain(TapeClock::kNoCut, kStartNs + 90 * kMs);
  clock_.end_drain(0);
  clock_.finish();
  EXPECT_EQ(times(), (Times{{3, 5 * kMs}, {3, 90 * kMs}}));
}

TEST_F(TapeClockTest, GivesTheLastCallsTheirTimeThoughTheProcessEndsLater) {
  begin_drain(10);
  call(3000, kStamp);
  call(3300, kStamp);
  clock_.end_drain(2);
  clock_.finish();
  EXPECT_EQ(times(), (Times{{0, kMs}, {2, 1'100'000}, {2, 10 * kMs}}));
}

TEST_F(TapeClockTest, BelievesNoStampFromTheFuture) {
  begin_drain(10);
  call(kTicksPerMs << 40, kStamp);
  EXPECT_EQ(times(), (Times{{0, 10 * kMs}}));
}

TEST_F(TapeClockTest, NeverGoesBack) {
  drain_calls(5, 1);
  begin_drain(6);
  call(1, kStamp);
  EXPECT_EQ(times(), (Times{{1, 5 * kMs}}));
}

}  // namespace
}  // namespace heaptape::recorder
