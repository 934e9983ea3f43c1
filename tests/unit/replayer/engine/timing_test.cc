#include "replayer/engine/timing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "allocators/native/worker/worker_protocol.h"
#include "schema/tape/tape_reader.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/programs.h"
#include "tests/support/replays.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::replayer {
namespace {

// As tests/e2e/targets/replay_counting_malloc.c writes them.
struct Counts {
  uint64_t mallocs, questions, trims, clock_ms, switches, ends, touched;
};
struct CountFile {
  uint64_t processes;
  Counts of[8];
};

class Timing : public testing::Test {
 protected:
  // A block at a time.
  void write(uint64_t blocks) {
    std::vector<schema::Event> events;
    for (uint64_t i = 0; i < blocks; ++i) {
      events.push_back(tests::malloc_event(24, 0x5000));
      events.push_back(tests::free_event(0x5000));
    }
    tests::write_tape(dir_.file("tape"), events);
  }
  // Four seconds, a chunk for each. Time stands still at the end of a chunk with none there.
  void write_slow_tape() {
    auto writer = schema::TapeWriter::create(dir_.file("tape"), tests::sample_header());
    for (uint64_t second = 1; second <= 4; ++second) {
      for (int i = 0; i < 50; ++i) {
        (*writer)->append(tests::malloc_event(24, 0x5000));
        (*writer)->append(tests::free_event(0x5000));
        if (i == 10) (*writer)->add_time(second * 1'000'000'000);
      }
      (*writer)->flush();
    }
    ASSERT_TRUE((*writer)->finish({}).ok());
  }
  ReplayOptions options(const std::string& settings = "") const {
    return tests::replay_options({"lib:" + tests::target_path("libreplay_counting_malloc.so") +
                                  " REPLAY_COUNTS=" + dir_.file("counts") + settings});
  }
  RunResult run(const ReplayOptions& options) {
    auto tape = schema::TapeReader::open(dir_.file("tape"));
    auto runs = replay(*tape, options, [this](double share) { progress_.push_back(share); });
    EXPECT_TRUE(runs.ok()) << runs.error().message;
    return runs.ok() ? std::move(runs->at(0)) : RunResult();
  }
  // The second process made the calls of the first one, and asked nothing.
  void expect_the_same_calls() const {
    const CountFile counts = counted();
    ASSERT_EQ(counts.processes, 2u);
    EXPECT_GT(counts.of[0].questions, 0u);
    EXPECT_EQ(counts.of[1].questions, 0u);
    EXPECT_EQ(counts.of[1].mallocs, counts.of[0].mallocs);
    EXPECT_EQ(counts.of[1].trims, counts.of[0].trims);
    EXPECT_EQ(counts.of[1].clock_ms, counts.of[0].clock_ms);
    EXPECT_EQ(counts.of[1].switches, counts.of[0].switches);
    EXPECT_EQ(counts.of[1].ends, counts.of[0].ends);
    EXPECT_EQ(counts.of[1].touched, counts.of[0].touched);
  }
  CountFile counted() const {
    CountFile file = {};
    std::ifstream(dir_.file("counts"), std::ios::binary)
        .read(reinterpret_cast<char*>(&file), sizeof file);
    return file;
  }

  const tests::TempDir dir_;
  std::vector<double> progress_;
};

uint64_t timed_calls(const RunMetrics& metrics) {
  uint64_t calls = 0;
  for (const LatencyRange& latency : metrics.latencies) {
    if (latency.middle.sizes.empty()) calls += latency.middle.samples;
  }
  return calls;
}

TEST_F(Timing, AsksNothingThatTheProgramDidNotAsk) {
  write(1000);
  const RunResult result = run(options());
  EXPECT_FALSE(result.failure);
  EXPECT_GT(result.metrics.replay_ns, 0u);
  EXPECT_GT(result.metrics.stamp_ns, 0.0);
  EXPECT_GE(counted().of[0].questions, 1000u);
  EXPECT_EQ(counted().of[0].touched, 1000u);
  expect_the_same_calls();
}

TEST_F(Timing, WritesToBlocksAsTheReplayForMemoryDoes) {
  write(1000);
  ReplayOptions untouched = options();
  untouched.touch = allocators::Touch::kNone;
  run(untouched);
  EXPECT_EQ(counted().of[0].touched, 0u);
  expect_the_same_calls();
}

TEST_F(Timing, HasTheThreadsOfTheTape) {
  auto writer = schema::TapeWriter::create(dir_.file("tape"), tests::sample_header());
  for (uint32_t i = 0; i < 300; ++i) {
    (*writer)->append(tests::malloc_event(24, 0x5000, i % 3));
    (*writer)->append(tests::free_event(0x5000, i % 3));
  }
  for (const uint32_t thread : {1, 2}) {
    (*writer)->add_end(thread);
    (*writer)->append(tests::malloc_event(24, 0x6000 + 0x100 * thread));
  }
  ASSERT_TRUE((*writer)->finish({}).ok());
  EXPECT_FALSE(run(options()).failure);
  EXPECT_GE(counted().of[0].switches, 299u);
  EXPECT_EQ(counted().of[0].ends, 2u);
  expect_the_same_calls();
}

TEST_F(Timing, HasOneThreadWhereTheReplayForMemoryHas) {
  std::vector<schema::Event> events;
  for (uint32_t i = 0; i < 300; ++i) {
    events.push_back(tests::malloc_event(24, 0x5000, i % 3));
    events.push_back(tests::free_event(0x5000, i % 3));
  }
  tests::write_tape(dir_.file("tape"), events);
  ReplayOptions merged = options();
  merged.threads = allocators::Threads::kMerged;
  run(merged);
  EXPECT_EQ(counted().of[0].switches, 1u);
  expect_the_same_calls();
}

TEST_F(Timing, HasRoomForAllBlocks) {
  std::vector<schema::Event> events;
  for (uint64_t i = 0; i < 100'000; ++i) events.push_back(tests::malloc_event(24, 0x5000 + 32 * i));
  tests::write_tape(dir_.file("tape"), events);
  EXPECT_FALSE(run(options()).failure);
  expect_the_same_calls();
}

TEST_F(Timing, MakesEveryCallOfATapeOfSeveralWindows) {
  constexpr uint64_t kBlocks = allocators::kMaxBatchOps + 1000;
  write(kBlocks);
  const RunResult result = run(options());
  EXPECT_FALSE(result.failure);
  const CountFile counts = counted();
  EXPECT_GE(counts.of[0].mallocs, kBlocks);
  EXPECT_EQ(counts.of[1].mallocs, counts.of[0].mallocs);
  EXPECT_EQ(timed_calls(result.metrics), 2 * kBlocks / allocators::kLatencyPeriod);
  EXPECT_GT(result.metrics.replay_ns, 2 * kBlocks);  // no call takes less than a nanosecond
}

TEST_F(Timing, PerformsActions) {
  write(1000);
  ReplayOptions with_actions = options();
  with_actions.actions = {{"trim", 700}, {"trim", 700}, {"trim", Action::kEnd}};
  EXPECT_FALSE(run(with_actions).failure);
  EXPECT_EQ(counted().of[0].trims, 3u);
  EXPECT_EQ(counted().of[1].trims, 3u);
}

TEST_F(Timing, HasTheClockOfTheReplayForMemory) {
  write_slow_tape();
  EXPECT_FALSE(run(options()).failure);
  EXPECT_GT(counted().of[0].clock_ms, 200 * 1000u);
  expect_the_same_calls();
}

TEST_F(Timing, HasTheRealClockOnRequest) {
  write_slow_tape();
  ReplayOptions real = options();
  real.clock = allocators::Clock::kReal;
  run(real);
  EXPECT_LT(counted().of[1].clock_ms, 200 * 1000u);
}

TEST_F(Timing, StopsWhereTheReplayDoes) {
  write(1000);
  run(options());
  const uint64_t all = counted().of[1].mallocs;
  ReplayOptions shorter = options();
  shorter.until = 1000;
  run(shorter);
  EXPECT_EQ(counted().of[3].mallocs, all - 500);
}

TEST_F(Timing, IsOncePerRepeat) {
  write(100);
  ReplayOptions repeated = options();
  repeated.repeats = 3;
  EXPECT_EQ(run(repeated).metrics.repeats, 3u);
  EXPECT_EQ(counted().processes, 6u);
  EXPECT_TRUE(std::ranges::is_sorted(progress_));
  EXPECT_EQ(progress_.back(), 1.0);
}

TEST_F(Timing, IsOmittedWithJobs) {
  write(100);
  ReplayOptions together = options();
  together.jobs = 2;
  run(together);
  EXPECT_EQ(counted().processes, 1u);
}

TEST_F(Timing, IsOmittedOnRequest) {
  write(100);
  ReplayOptions untimed = options();
  untimed.times = false;
  run(untimed);
  EXPECT_EQ(counted().processes, 1u);
}

TEST_F(Timing, IsNotForAnAllocatorThatHasFailed) {
  write(100);
  const RunResult result = run(options(" REPLAY_CRASH=1"));
  ASSERT_TRUE(result.failure);
  EXPECT_FALSE(result.failure->text.ends_with("(in the replay for times)"));
  EXPECT_EQ(counted().processes, 1u);
}

TEST_F(Timing, FailsWithTheAllocator) {
  write(allocators::kMaxBatchOps);  // the second window has nobody
  const RunResult result = run(options(" REPLAY_CRASH=2"));
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->event, 19u);
  EXPECT_NE(result.failure->text.find("killed by signal 11"), std::string::npos);
  EXPECT_TRUE(result.failure->text.ends_with(" (in the replay for times)")) << result.failure->text;
  EXPECT_EQ(result.output, "last words");
  EXPECT_EQ(result.metrics.replay_ns, 0u);
  EXPECT_LT(progress_.back(), 1.0);
}

TEST_F(Timing, LeavesModelsAlone) {
  write(100);
  const auto runs = tests::replay_tape(dir_.file("tape"), tests::replay_options({"model:runs"}));
  EXPECT_GT(runs.at(0).replay_ns, 0u);
}

}  // namespace
}  // namespace heaptape::replayer
