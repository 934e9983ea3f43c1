#include "replayer/engine/live_peaks.h"

#include <gtest/gtest.h>

#include "tests/support/replays.h"
#include "tests/support/sizes.h"
#include "tests/support/tapes.h"

namespace heaptape::replayer {
namespace {

using tests::free_event;
using tests::malloc_event;

using tests::kMiB;

ResolvedBatch batch_of(const std::vector<uint64_t>& live_bytes) {
  ResolvedBatch batch;
  batch.live_bytes = live_bytes;
  batch.ops.resize(live_bytes.size());
  batch.recorded_addresses.resize(live_bytes.size());
  return batch;
}

TEST(LivePeaks, AreBehindTheFirstOfTheHighest) {
  LivePeaks peaks;
  EXPECT_EQ(peaks.find(batch_of({3, 70, 5, 70, 1})), 2u);
}

TEST(LivePeaks, AreAboveAllBefore) {
  LivePeaks peaks;
  EXPECT_EQ(peaks.find(batch_of({3200})), 1u);
  EXPECT_EQ(peaks.find(batch_of({1, 3300, 7})), 0u);
  EXPECT_EQ(peaks.find(batch_of({1, 7, 3301})), 3u);
  EXPECT_EQ(peaks.find(batch_of({3301})), 0u);
}

TEST(LivePeaks, AreNotInNothing) {
  LivePeaks peaks;
  EXPECT_EQ(peaks.find(batch_of({})), 0u);
  EXPECT_EQ(peaks.find(batch_of({0, 0})), 0u);
}

TEST(SplitBatch, HasEachOpInOneOfItsParts) {
  ResolvedBatch batch = batch_of({10, 20, 30});
  batch.first_event = 100;
  batch.slot_limit = 7;
  batch.live.live_bytes = 30;
  const ResolvedBatch rest = split_off(batch, 2);
  EXPECT_EQ(batch.live_bytes, (std::vector<uint64_t>{10, 20}));
  EXPECT_EQ(batch.live.live_bytes, 20u);
  EXPECT_EQ(batch.ops.size(), 2u);
  EXPECT_EQ(rest.live_bytes, (std::vector<uint64_t>{30}));
  EXPECT_EQ(rest.live.live_bytes, 30u);
  EXPECT_EQ(rest.first_event, 102u);
  EXPECT_EQ(rest.slot_limit, 7u);
}

TEST(SplitBatch, HasTimesAndEndsWhereTheyBelong) {
  ResolvedBatch batch = batch_of({1, 2, 3});
  batch.times = {{0, 5}, {2, 6}, {3, 7}};
  batch.next_time = schema::TimeSample{9, 8};
  batch.thread_ends = {{2, 1}, {3, 2}};
  ResolvedBatch rest = split_off(batch, 2);
  EXPECT_EQ(batch.times, (std::vector<schema::TimeSample>{{0, 5}, {2, 6}}));
  EXPECT_EQ(batch.next_time, (schema::TimeSample{3, 7}));
  EXPECT_EQ(batch.thread_ends, (std::vector<schema::ThreadEnd>{{2, 1}}));
  EXPECT_EQ(rest.times, (std::vector<schema::TimeSample>{{3, 7}}));
  EXPECT_EQ(rest.next_time, (schema::TimeSample{9, 8}));
  EXPECT_EQ(rest.thread_ends, (std::vector<schema::ThreadEnd>{{3, 2}}));
}

// Blocks of 64 MiB that live for one call, between two samples.
TEST(ReplayOfAShortPeak, MeasuresWhatIsResidentThere) {
  std::vector<schema::Event> events = {malloc_event(100, 0x1000)};
  for (int i = 0; i < 3; ++i) {
    events.push_back(malloc_event(64 * kMiB, 0x10000000));
    events.push_back(free_event(0x10000000));
  }
  for (const char* spec : {"glibc", "model:ptmalloc", "mimalloc"}) {
    ReplayOptions options = tests::replay_options({spec});
    options.samples = 1;
    const RunMetrics run = tests::replay_events(events, options).at(0);
    EXPECT_GE(run.resident_bytes_peak.value, 64 * kMiB) << spec;
    EXPECT_EQ(run.resident_bytes_peak.at, 2u) << spec;
    EXPECT_EQ(run.timeline.size(), 1u);
    EXPECT_EQ(run.accounting.replayed, events.size());
    EXPECT_EQ(run.end.live.live_count, 1u);
  }
}

}  // namespace
}  // namespace heaptape::replayer
