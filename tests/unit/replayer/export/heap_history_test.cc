#include "replayer/export/heap_history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "schema/tape/tape_writer.h"
#include "tests/support/histories.h"
#include "tests/support/stack_tapes.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::replayer {
namespace {

using Points = std::vector<HistoryPoint>;

class Histories : public testing::Test {
 protected:
  // Calls fill(writer), and reads the tape.
  template <typename Fill>
  HeapHistory of(Fill fill, bool has_times = false) {
    auto writer = schema::TapeWriter::create(path_, tests::sample_header());
    fill(**writer);
    EXPECT_TRUE((*writer)->finish({}).ok());
    return tests::history_of(path_, nullptr, has_times);
  }
  static const HistorySeries& series(const HeapHistory& history, const std::string& name) {
    return *std::ranges::find(history.series, name, &HistorySeries::name);
  }
  static bool has(const HeapHistory& history, const std::string& name) {
    return std::ranges::count(history.series, name, &HistorySeries::name) == 1;
  }
  static schema::ProcessSample sample(uint64_t number, uint64_t resident_bytes) {
    return {0, number, resident_bytes, {}, {}};
  }

  tests::TempDir dir_;
  std::string path_ = dir_.file("a.tape");
};

TEST_F(Histories, HaveLiveBlocksAfterEachCallOfAShortTape) {
  const HeapHistory history = of([](schema::TapeWriter& writer) {
    writer.append(tests::malloc_event(100, 0x1000));
    writer.append(tests::realloc_event(0x1000, 70, 0x2000));
    writer.append(tests::free_event(0x2000));
    writer.append(tests::free_event(0x7000));  // of an unknown block
  });
  EXPECT_EQ(series(history, "liveBytes").points,
            (Points{{0, 0}, {1000, 100}, {2000, 70}, {3000, 0}, {4000, 0}}));
  EXPECT_EQ(series(history, "liveCount").points,
            (Points{{0, 0}, {1000, 1}, {2000, 1}, {3000, 0}, {4000, 0}}));
  EXPECT_EQ(series(history, "cumulativeBytesUpper").points.back(), (HistoryPoint{4000, 170}));
}

TEST_F(Histories, KeepPeaksOfLongTapes) {
  constexpr uint64_t kBlocks = 20'000;
  const HeapHistory history = of([](schema::TapeWriter& writer) {
    for (uint64_t i = 0; i < kBlocks; ++i) {
      writer.append(tests::malloc_event(i == 777 ? 5000 : 10, 0x1000));
      writer.append(tests::free_event(0x1000));
    }
  });
  const Points& points = series(history, "liveBytes").points;
  EXPECT_LE(points.size(), 2 * HistoryBuilder::kWindows + 1);
  EXPECT_EQ(std::ranges::count(points, HistoryPoint{(2 * 777 + 1) * 1000, 5000}), 1);
  EXPECT_TRUE(std::ranges::is_sorted(points, {}, &HistoryPoint::time_ns));
  EXPECT_EQ(points.back(), (HistoryPoint{2 * kBlocks * 1000, 0}));
}

TEST_F(Histories, HaveTimesOfTheTape) {
  const HeapHistory history = of(
      [](schema::TapeWriter& writer) {
        writer.append(tests::malloc_event(100, 0x1000));
        writer.append(tests::malloc_event(100, 0x2000));
        writer.add_time(4000);
      },
      true);
  EXPECT_EQ(series(history, "liveBytes").points, (Points{{0, 0}, {2000, 100}, {4000, 200}}));
}

TEST_F(Histories, HaveMarksAndMomentsWhenTheyWereMade) {
  const HeapHistory history = of(
      [](schema::TapeWriter& writer) {
        writer.append(tests::malloc_event(100, 0x1000));
        writer.add_time(4000);
        writer.add_mark("late", 9000);
      },
      true);
  ASSERT_EQ(history.marks.size(), 1u);
  EXPECT_EQ(history.marks[0].time_ns, 9000u);
  EXPECT_EQ(history.marks[0].name, "late");
  const auto mark = std::ranges::find(history.moments, "mark:late", &HeapMoment::name);
  ASSERT_NE(mark, history.moments.end());
  EXPECT_EQ(mark->time_ns, 9000u);
  EXPECT_EQ(history.end_ns, 9000u);
}

TEST_F(Histories, KeepTheLargestOfManySamples) {
  const HeapHistory history = of(
      [](schema::TapeWriter& writer) {
        for (uint64_t i = 0; i < 5 * HistoryBuilder::kMostSamples; ++i) {
          writer.add_sample(sample(i, i == 1234 ? 900 : 100));
        }
      },
      true);
  const Points& points = series(history, "residentBytes").points;
  EXPECT_LT(points.size(), 2 * HistoryBuilder::kMostSamples);
  EXPECT_EQ(std::ranges::count(points, HistoryPoint{1234, 900}), 1);
}

TEST_F(Histories, HaveOwnersOfMemoryAsSeries) {
  const HeapHistory history = of(
      [](schema::TapeWriter& writer) {
        schema::ProcessSample with = sample(2, 500);
        with.parts.malloc_bytes = 100;
        with.parts.owners = {{"libarrow", 300}};
        writer.add_sample(sample(1, 200));
        writer.add_sample(with);
      },
      true);
  EXPECT_EQ(series(history, "process.besideMalloc.libarrow.bytes").points,
            (Points{{1, 0}, {2, 300}}));
  EXPECT_EQ(series(history, "process.mallocBytes").points, (Points{{2, 100}}));
  EXPECT_FALSE(has(history, "process.hugeBytes"));
}

TEST_F(Histories, OfNoCallsHaveAnEnd) {
  const HeapHistory history = of([](schema::TapeWriter&) {});
  ASSERT_FALSE(history.moments.empty());
  EXPECT_EQ(series(history, "liveBytes").points, (Points{{0, 0}}));
}

TEST_F(Histories, HaveTheStacksThatChanged) {
  tests::write_stack_tape(path_);
  StackProfile profile(5);
  const HeapHistory history = tests::history_of(path_, &profile);
  std::map<schema::FrameNumber, StackState> now;
  for (const HeapMoment& moment : history.moments) {
    for (const auto& [stack, state] : moment.changed) now[stack] = state;
    if (moment.name != "peak") continue;
    EXPECT_EQ(now[2], (StackState{1, 300, 1, 300}));
    EXPECT_EQ(now[3], (StackState{1, 100, 1, 100}));
    EXPECT_EQ(now[4], (StackState{2, 57, 1, 7}));
  }
  EXPECT_EQ(now[3], (StackState{1, 100, 0, 0}));
  EXPECT_EQ(now[0], (StackState{1, 10, 0, 0}));
}

// Estimates are rounded, but no sum falls, and the live bytes are those of other exports.
TEST_F(Histories, OfSampledStacksHaveSumsThatNeverFall) {
  schema::TapeHeader header = tests::sample_header();
  header.stacks.every_bytes = 1000;
  auto writer = schema::TapeWriter::create(path_, header);
  (*writer)->encoder().set_has_stacks();
  (*writer)->encoder().add_frame({0, 0x400101});
  (*writer)->encoder().add_frame({1, 0x400201});
  tests::Random random(tests::test_seed());
  for (const schema::Event& event : tests::plausible_events(random, 3000)) {
    (*writer)->encoder().append(event, static_cast<schema::FrameNumber>(random.below(3)));
  }
  ASSERT_TRUE((*writer)->finish({}).ok());
  StackProfile profile(3, {}, SampleWeight(1000));
  const HeapHistory history = tests::history_of(path_, &profile);
  std::map<schema::FrameNumber, StackState> before;
  for (const HeapMoment& moment : history.moments) {
    for (const auto& [stack, state] : moment.changed) {
      StackState& old = before[stack];
      EXPECT_GE(state.calls, old.calls);
      EXPECT_GE(state.asked_bytes, old.asked_bytes);
      EXPECT_GE(state.calls - state.live_count, old.calls - old.live_count);
      EXPECT_GE(state.asked_bytes - state.live_bytes, old.asked_bytes - old.live_bytes);
      old = state;
    }
  }
  profile.for_each([&](schema::FrameNumber stack, const StackTotals& totals) {
    EXPECT_EQ(before[stack],
              (StackState{totals.calls, totals.asked_bytes, totals.live_count, totals.live_bytes}));
  });
}

TEST(MomentsToKeep, AreFewerWithManyStacks) {
  std::vector<Moment> found = {{"peak", 50}, {"end", 100}};
  for (uint64_t i = 0; i < 300; ++i) found.push_back({"mark:m" + std::to_string(i), i % 100});
  EXPECT_EQ(moments_to_keep(found, 100, 10).size(), 256u);
  const std::vector<Moment> few = moments_to_keep(found, 100, uint64_t{1} << 26);
  EXPECT_EQ(few.size(), 4u);
  EXPECT_EQ(few.back().name, "end");
  EXPECT_EQ(std::ranges::count(few, "peak", &Moment::name), 1);
}

TEST(MomentsToKeep, HaveSomeBetween) {
  const std::vector<Moment> kept = moments_to_keep({{"peak", 60}, {"end", 160}}, 160, 10);
  EXPECT_EQ(kept.size(), 17u);
  EXPECT_TRUE(std::ranges::is_sorted(kept, {}, &Moment::event));
}

}  // namespace
}  // namespace heaptape::replayer
