#include "replayer/engine/repeats.h"

#include <gtest/gtest.h>

#include "schema/tape/tape_reader.h"
#include "tests/support/programs.h"
#include "tests/support/replays.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::replayer {
namespace {

class Repeats : public testing::Test {
 protected:
  static RunResult run(uint64_t replay_ns) {
    RunResult result;
    result.metrics.replay_ns = replay_ns;
    result.metrics.end.committed_bytes = 4096;
    return result;
  }
  static RunResult timed(uint64_t p50_ns, uint64_t max_ns, uint64_t max_event) {
    RunResult result = run(1);
    allocators::LatencySummary latency;
    latency.p50_ns = p50_ns;
    latency.max_ns = max_ns;
    latency.max_event = max_event;
    result.metrics.latencies.push_back({latency, latency, latency});
    return result;
  }
};

TEST_F(Repeats, HaveTheMedianTimeAndTheExtremes) {
  const RunMetrics metrics = merge_repeats({run(30), run(10), run(90)}).metrics;
  EXPECT_EQ(metrics.repeats, 3u);
  EXPECT_EQ(metrics.replay_ns, 30u);
  EXPECT_EQ(metrics.replay_ns_min, 10u);
  EXPECT_EQ(metrics.replay_ns_max, 90u);
}

TEST_F(Repeats, TakeTheMeanOfTheTwoInTheMiddle) {
  EXPECT_EQ(merge_repeats({run(10), run(20), run(90), run(40)}).metrics.replay_ns, 30u);
}

TEST_F(Repeats, HaveTheMedianOfEachQuantile) {
  const auto merged = merge_repeats({timed(5, 100, 61), timed(9, 300, 122), timed(7, 200, 183)});
  const LatencyRange& latency = merged.metrics.latencies.at(0);
  EXPECT_EQ(latency.middle.p50_ns, 7u);
  EXPECT_EQ(latency.least.p50_ns, 5u);
  EXPECT_EQ(latency.greatest.p50_ns, 9u);
}

TEST_F(Repeats, TellTheSizesOfBlocksApart) {
  const auto of_two_sizes = [](uint64_t small_ns, uint64_t large_ns) {
    RunResult result = timed(small_ns, 1, 61);
    allocators::LatencySummary large;
    large.sizes = "to4KiB";
    large.p50_ns = large_ns;
    result.metrics.latencies.push_back({large, large, large});
    return result;
  };
  const auto merged = merge_repeats({of_two_sizes(1, 100), of_two_sizes(3, 300)});
  EXPECT_EQ(merged.metrics.latencies.at(0).middle.p50_ns, 2u);
  EXPECT_EQ(merged.metrics.latencies.at(1).middle.p50_ns, 200u);
}

TEST_F(Repeats, NameTheSlowestCallOfAll) {
  const auto merged = merge_repeats({timed(5, 100, 61), timed(9, 300, 122), timed(7, 200, 183)});
  EXPECT_EQ(merged.metrics.latencies.at(0).greatest.max_ns, 300u);
  EXPECT_EQ(merged.metrics.latencies.at(0).greatest.max_event, 122u);
}

TEST_F(Repeats, NameTheMemoryThatDiffers) {
  RunResult other = run(1);
  other.metrics.end.committed_bytes = 8192;
  const RunResult merged = merge_repeats({run(1), other});
  EXPECT_EQ(merged.notes, std::vector<std::string>{"end.committedBytes is not the same in each "
                                                   "repeat: 4,096 to 8,192, 4,096 in the first"});
  EXPECT_EQ(merged.metrics.end.committed_bytes, 4096u);
}

TEST_F(Repeats, SayNothingOfMemoryThatIsTheSame) {
  EXPECT_TRUE(merge_repeats({run(1), run(2)}).notes.empty());
}

TEST_F(Repeats, FailWithTheFirstThatFailed) {
  RunResult failed = run(1);
  failed.failure = {.event = 7, .text = "it died"};
  const RunResult merged = merge_repeats({run(1), failed});
  ASSERT_TRUE(merged.failure);
  EXPECT_EQ(merged.failure->event, 7u);
  EXPECT_EQ(merged.failure->text, "it died (in repeat 2)");
}

// One that hangs would take its half minute each time.
TEST_F(Repeats, LeaveOutWhatHasFailed) {
  const tests::TempDir dir;
  tests::write_tape(dir.file("t"),
                    std::vector<schema::Event>(200, tests::malloc_event(24, 0x5000)));
  ReplayOptions options =
      tests::replay_options({"lib:" + tests::target_path("libreplay_aborting_malloc.so")});
  options.repeats = 3;
  auto tape = schema::TapeReader::open(dir.file("t"));
  double progress = 0;
  const auto runs = replay(*tape, options, [&progress](double share) { progress = share; });
  ASSERT_TRUE(runs.ok());
  EXPECT_TRUE(runs->at(0).failure);
  EXPECT_LE(progress, 1.0 / 3);
}

TEST_F(Repeats, AreNothingNewWhereThereIsOne) {
  RunResult alone = run(5);
  alone.metrics.replay_ns_min = alone.metrics.replay_ns_max = 5;
  EXPECT_EQ(merge_repeats({alone}).metrics.repeats, 1u);
  EXPECT_EQ(merge_repeats({alone}).metrics.replay_ns_max, 5u);
}

}  // namespace
}  // namespace heaptape::replayer
