// What a report says of a run's metrics: the numbers that are worked out on the way.
#include "replayer/report/run_fields.h"

#include <capnp/message.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "schema/report/report_figures.h"

namespace heaptape::replayer {
namespace {

namespace wire = schema::wire;

class RunFields : public testing::Test {
 protected:
  wire::Run::Reader fields() {
    auto run = message_->initRoot<wire::Run>();
    set_metrics(run, metrics_);
    return run.asReader();
  }

  RunMetrics metrics_;
  // Behind a pointer: its destructor may throw, which that of a test may not.
  std::unique_ptr<capnp::MallocMessageBuilder> message_ =
      std::make_unique<capnp::MallocMessageBuilder>();
};

TEST_F(RunFields, TakePeakFragmentationFromTheLiveBytesAtTheCommittedPeak) {
  metrics_.committed_bytes_peak.value = 1000;
  metrics_.live_bytes_at_committed_peak = 250;
  metrics_.live_bytes_peak.value = 500;
  metrics_.end.live.live_bytes = 100;
  EXPECT_EQ(fields().getPeak().getFragmentation(), 0.75);
}

TEST_F(RunFields, HaveNoTimeWhereNothingWasReplayed) {
  EXPECT_FALSE(fields().hasTime());
  metrics_.replay_ns = 1;
  EXPECT_TRUE(fields().hasTime());
}

TEST_F(RunFields, HaveThePinsOfSeveralStatesAtOneCallOnce) {
  for (const char* const name : {"peak", "plateau", "exit"}) {
    MomentState state{.moment = {.name = name, .event = 9}, .snapshot = {}, .account = {}};
    state.snapshot.at = std::string(name) == "peak" ? 5 : 9;
    state.pins = {{.size_bytes = 64, .count = 1, .bytes = 100, .first_birth = 3, .last_birth = 3}};
    metrics_.moments.push_back(state);
  }
  const wire::Run::Reader run = fields();
  EXPECT_EQ(run.getAtPeak().getPins()[0].getBytes(), 100u);
  EXPECT_TRUE(run.getAtPlateau().hasPins());
  EXPECT_FALSE(run.getAtExit().hasPins());
  const auto pins = schema::figures_of(run).pins;
  ASSERT_EQ(pins.size(), 2u);
  EXPECT_EQ(pins[1].states, (std::vector<std::string>{"atPlateau", "atExit"}));
}

TEST_F(RunFields, TakeEndFragmentationFromTheEnd) {
  metrics_.committed_bytes_peak.value = 1000;
  metrics_.live_bytes_at_committed_peak = 250;
  metrics_.end.live.live_bytes = 100;
  metrics_.end.committed_bytes = 200;
  EXPECT_EQ(fields().getEnd().getFragmentation(), 0.5);
}

TEST_F(RunFields, HaveNoFragmentationWithoutMemory) {
  metrics_.end.live.live_bytes = 100;
  EXPECT_EQ(fields().getEnd().getFragmentation(), 0);
}

TEST_F(RunFields, MeasureTheDistanceToIdealBetweenTheTwoPeaks) {
  metrics_.committed_bytes_peak.value = 1000;
  metrics_.live_bytes_at_committed_peak = 250;
  metrics_.live_bytes_peak.value = 500;
  EXPECT_EQ(fields().getPeak().getDistanceToIdeal(), 2);
}

TEST_F(RunFields, TakeThePeakHolesAndNotThoseOfTheEnd) {
  metrics_.holes_at_committed_peak.bytes = 96;
  metrics_.end.holes.bytes = 32;
  EXPECT_EQ(fields().getPeak().getHoles().getBytes(), 96u);
}

TEST_F(RunFields, HaveSlackWhereUsableExceedsLive) {
  metrics_.end.usable_bytes = 130;
  metrics_.end.live.live_bytes = 100;
  EXPECT_EQ(fields().getEnd().getSlackBytes(), 30u);
}

TEST_F(RunFields, HaveNoSlackWhereRecordedSizesAreImprecise) {
  metrics_.end.usable_bytes = 90;
  metrics_.end.live.live_bytes = 100;
  EXPECT_EQ(fields().getEnd().getSlackBytes(), 0u);
}

TEST_F(RunFields, ListOnlyTheBucketsThatHaveHoles) {
  metrics_.end.holes.histogram[5] = {.count = 2, .bytes = 80};
  metrics_.end.holes.histogram[9] = {.count = 1, .bytes = 600};
  const auto buckets = fields().getEnd().getHoles().getHistogram();
  ASSERT_EQ(buckets.size(), 2u);
  EXPECT_EQ(buckets[1].getLog2Size(), 9u);
  EXPECT_EQ(buckets[1].getBytes(), 600u);
}

TEST_F(RunFields, SpreadTheTimeOverAllRecordedEvents) {
  metrics_.accounting.recorded = 8;
  metrics_.accounting.replayed = 4;
  metrics_.replay_ns = 100;
  EXPECT_EQ(fields().getTime().getNsPerEvent(), 12.5);
}

// The slowest call is that of all repeats.
TEST_F(RunFields, HaveEachLatencyFromItsPlaceInTheRange) {
  LatencyRange latency;
  uint64_t value = 0;
  for (auto* const one : {&latency.least, &latency.middle, &latency.greatest}) {
    one->samples = ++value;
    one->p50_ns = ++value;
    one->p99_ns = ++value;
    one->p999_ns = ++value;
    one->max_ns = ++value;
    one->max_event = ++value;
  }
  metrics_.latencies.push_back(latency);
  const wire::Latency::Reader read = fields().getLatency()[0];
  EXPECT_EQ(read.getSamples(), 7u);
  EXPECT_EQ(read.getP50Ns(), 8u);
  EXPECT_EQ(read.getP99Ns(), 9u);
  EXPECT_EQ(read.getP999Ns(), 10u);
  EXPECT_EQ(read.getMaxNs(), 17u);
  EXPECT_EQ(read.getMaxAt(), 18u);
  EXPECT_EQ(read.getP50NsMin(), 2u);
  EXPECT_EQ(read.getP50NsMax(), 14u);
  EXPECT_EQ(read.getP99NsMin(), 3u);
  EXPECT_EQ(read.getP99NsMax(), 15u);
  EXPECT_EQ(read.getP999NsMin(), 4u);
  EXPECT_EQ(read.getP999NsMax(), 16u);
}

TEST_F(RunFields, LeaveGrowthOutWhereNoWorkIsCounted) {
  EXPECT_FALSE(fields().hasGrowth());
}

}  // namespace
}  // namespace heaptape::replayer
