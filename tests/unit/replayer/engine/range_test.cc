// Replays that analyze a range of the calls: `replay --from N --to M`. The whole replays up to M
// and up to N - 1 say what its figures must be.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "replayer/engine/replay.h"
#include "replayer/engine/tape_moments.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/replays.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::replayer {
namespace {

using schema::Event;
using Events = std::vector<Event>;

const std::vector<std::string> kEveryKind = {
    "model:ptmalloc", "model:runs",      "model:slabs", "model:best-fit", "model:ideal",
    "model:buddy",    "model:foresight", "recorded",    "glibc",          "noop"};

class RangeTest : public testing::Test {
 protected:
  static constexpr uint64_t kStepNs = 5'000'000;
  static constexpr size_t kCalls = 3000;
  static constexpr size_t kLastOfThread2 = 900;

  // Steers malloc at first, and again after a third of the calls. Thread 2 ends early.
  void write(Events events) {
    schema::TapeHeader header = tests::sample_header();
    header.recorded_allocator = {.family = "glibc", .version = "2.36", .libc = "2.36"};
    const auto tape = std::move(*schema::TapeWriter::create(dir_.file("tape"), header));
    tape->add_steering({.op = schema::SteeringOp::kMallopt, .first = -3, .second = 1 << 16});
    for (size_t i = 0; i < events.size(); ++i) {
      if (i >= kLastOfThread2 && events[i].thread == 2) events[i].thread = 1;
      tape->append(events[i]);
      tape->add_time((i + 1) * kStepNs);
      if (i == kLastOfThread2) tape->add_end(2);
      if (i == kCalls / 3) tape->add_steering({.op = schema::SteeringOp::kMallocTrim});
    }
    ASSERT_TRUE(tape->finish({}).ok());
  }
  void write_plausible() { write(tests::plausible_events(random_, kCalls, 16, 3)); }

  // With a point of the timeline for each call.
  std::vector<RunMetrics> replay(uint64_t from, uint64_t until,
                                 const std::vector<std::string>& specs = kEveryKind) {
    ReplayOptions options = tests::replay_options(specs);
    options.from = from;
    options.until = until;
    options.samples = UINT32_MAX;
    options.times = false;
    auto tape = schema::TapeReader::open(dir_.file("tape"));
    options.moments = *find_moments(*tape, until, {}, nullptr, from);
    return tests::replay_tape(dir_.file("tape"), options);
  }

  // What a range adds to the calls before it.
  static LiveValues since(const LiveValues& whole, const LiveValues& before) {
    LiveValues values = whole;
    values.cumulative_bytes_upper -= before.cumulative_bytes_upper;
    values.cumulative_bytes_lower -=
        std::min(values.cumulative_bytes_lower, before.cumulative_bytes_lower);
    values.temporaries -= before.temporaries;
    return values;
  }
  static uint64_t same_offsets(const RunMetrics& run) {
    return static_cast<uint64_t>(
        std::llround(run.same_offset_share * static_cast<double>(run.compared_blocks)));
  }
  // The first state with the highest value, of those from `before` calls on.
  template <typename Value>
  static Peak peak_of(const RunMetrics& whole, uint64_t before, Value value_of) {
    Peak peak{0, before};
    for (const Snapshot& state : whole.timeline) {
      if (state.at >= before) peak.update(value_of(state), state.at);
    }
    return peak;
  }

  void expect_range(uint64_t from, uint64_t until) {
    const auto whole = replay(1, until);
    const auto before = replay(1, from - 1);
    const auto range = replay(from, until);
    ASSERT_EQ(range.size(), kEveryKind.size());
    for (size_t i = 0; i < range.size(); ++i) {
      SCOPED_TRACE(kEveryKind[i] + " from " + std::to_string(from) + " to " +
                   std::to_string(until));
      expect_states(whole[i], before[i], range[i]);
      // Told of another end, it places blocks elsewhere.
      if (kEveryKind[i] != "model:foresight") expect_counts(whole[i], before[i], range[i]);
      expect_peaks(whole[i], from - 1, range[i]);
    }
  }
  // Each state is that of the whole replay, but for its sums.
  static void expect_states(const RunMetrics& whole, const RunMetrics& before,
                            const RunMetrics& range) {
    RunMetrics expected = whole;
    const auto is_earlier = [&](const Snapshot& state) { return state.at <= before.end.at; };
    std::erase_if(expected.timeline, is_earlier);
    for (Snapshot& state : expected.timeline) state.live = since(state.live, before.end.live);
    expected.end = expected.timeline.back();
    const auto text = [&](const RunMetrics& run) {
      RunMetrics states;
      states.end = run.end;
      states.timeline = run.timeline;
      states.counters = run.counters;
      std::erase_if(states.counters, [](const allocators::Counter& counter) {
        return counter.name == "mallinfoSamples";  // as the analysis asks for them
      });
      return tests::lasting_text(states);
    };
    EXPECT_EQ(text(range), text(expected));
    EXPECT_EQ(range.end.time_ns, whole.end.time_ns);
  }
  static void expect_counts(const RunMetrics& whole, const RunMetrics& before,
                            const RunMetrics& range) {
    const auto& [recorded, replayed, failed_calls, unknown_frees, refused, begin] =
        range.accounting;
    EXPECT_EQ(begin, before.accounting.recorded);
    EXPECT_EQ(recorded, whole.accounting.recorded - before.accounting.recorded);
    EXPECT_EQ(replayed, whole.accounting.replayed - before.accounting.replayed);
    EXPECT_EQ(failed_calls, whole.accounting.failed_calls - before.accounting.failed_calls);
    EXPECT_EQ(unknown_frees, whole.accounting.unknown_frees - before.accounting.unknown_frees);
    EXPECT_EQ(refused, whole.accounting.refused - before.accounting.refused);
    EXPECT_EQ(range.resizes.in_place, whole.resizes.in_place - before.resizes.in_place);
    EXPECT_EQ(range.resizes.moved, whole.resizes.moved - before.resizes.moved);
    EXPECT_EQ(range.resizes.moved_bytes, whole.resizes.moved_bytes - before.resizes.moved_bytes);
    EXPECT_EQ(range.compared_blocks, whole.compared_blocks - before.compared_blocks);
    EXPECT_EQ(same_offsets(range), same_offsets(whole) - same_offsets(before));
    for (const HeapGrowth& growth : range.heap_growths) EXPECT_GT(growth.event, before.end.at);
  }
  static void expect_peaks(const RunMetrics& whole, uint64_t before, const RunMetrics& range) {
    const auto expect = [&](const Peak& found, auto value_of) {
      const Peak expected = peak_of(whole, before, value_of);
      EXPECT_EQ(found.value, expected.value);
      EXPECT_EQ(found.at, expected.at);
    };
    expect(range.live_bytes_peak, [](const Snapshot& state) { return state.live.live_bytes; });
    expect(range.live_count_peak, [](const Snapshot& state) { return state.live.live_count; });
    expect(range.usable_bytes_peak, [](const Snapshot& state) { return state.usable_bytes; });
    expect(range.resident_bytes_peak, [](const Snapshot& state) { return state.resident_bytes; });
    const auto is_peak = [](const MomentState& state) { return state.moment.name == "peak"; };
    const auto peak = std::ranges::find_if(range.moments, is_peak);
    ASSERT_NE(peak, range.moments.end());
    EXPECT_EQ(peak->snapshot.at, range.live_bytes_peak.at);
    const auto committed =
        peak_of(whole, before, [](const Snapshot& state) { return state.committed_bytes; });
    EXPECT_GE(range.committed_bytes_peak.value, committed.value) << "also in passing";
    EXPECT_GE(range.committed_bytes_peak.at, before);
    if (range.committed_bytes_peak.at != before) return;
    const Snapshot& begin = whole.timeline.at(before - 1);
    EXPECT_EQ(range.holes_at_committed_peak.bytes, begin.holes.bytes);
    EXPECT_EQ(range.holes_at_committed_peak.top_bytes, begin.holes.top_bytes);
    EXPECT_EQ(range.live_bytes_at_committed_peak, begin.live.live_bytes);
  }

  tests::TempDir dir_;
  tests::Random random_{tests::test_seed()};
};

TEST_F(RangeTest, HasTheStatesOfTheWholeReplay) {
  write_plausible();
  expect_range(1500, 2500);
  expect_range(2, 40);
  expect_range(1001, 1001);
  expect_range(2990, 3000);
}

// Calls that failed, frees of unknown blocks, aligned blocks, resizes of all kinds.
TEST_F(RangeTest, HasTheStatesOfTheWholeReplayWhateverTheCalls) {
  for (int round = 0; round < 3; ++round) {
    write(tests::eventful_events(random_, 1200, 16));
    expect_range(100 + random_.below(400), 600 + random_.below(600));
  }
}

// What the program told malloc before the range, and a thread that ended there.
TEST_F(RangeTest, BeginsWhereThreadsEndAndMallocIsSteered) {
  write_plausible();
  for (const uint64_t event : {uint64_t{kLastOfThread2}, uint64_t{kCalls / 3}}) {
    for (const uint64_t from : {event + 1, event + 2, event + 3}) {
      expect_range(from, from + 20);
    }
  }
}

TEST_F(RangeTest, FromTheFirstCallIsTheWholeReplay) {
  write_plausible();
  ReplayOptions options = tests::replay_options({"model:ptmalloc"});
  const auto whole = tests::replay_tape(dir_.file("tape"), options);
  options.from = 1;
  const auto range = tests::replay_tape(dir_.file("tape"), options);
  EXPECT_EQ(tests::lasting_text(range.at(0)), tests::lasting_text(whole.at(0)));
}

TEST_F(RangeTest, IsTheSameSideBySideInThreadsAndRepeated) {
  write_plausible();
  ReplayOptions options = tests::replay_options({"model:ptmalloc", "recorded", "glibc"});
  options.from = 1700;
  options.samples = 7;
  options.times = false;
  const auto text = [&] {
    std::string all;
    for (const RunMetrics& run : tests::replay_tape(dir_.file("tape"), options)) {
      all += tests::lasting_text(run);
    }
    return all;
  };
  const std::string in_turn = text();
  options.jobs = 3;
  EXPECT_EQ(text(), in_turn);
  options.jobs = 1;
  options.repeats = 2;
  EXPECT_EQ(text(), in_turn);
}

TEST_F(RangeTest, SpreadsItsPointsEvenly) {
  write_plausible();
  ReplayOptions options = tests::replay_options({"model:runs"});
  options.from = 101;
  options.until = 200;
  options.samples = 4;
  std::vector<uint64_t> points;
  const RunMetrics run = tests::replay_tape(dir_.file("tape"), options).at(0);
  for (const Snapshot& state : run.timeline) points.push_back(state.at);
  EXPECT_EQ(points, (std::vector<uint64_t>{125, 150, 175, 200}));
}

// Blocks of 1,000, 200 and 30 bytes from before: one is freed, one shrinks.
class SmallRange : public RangeTest {
 protected:
  SmallRange() {
    write({tests::malloc_event(1000, 0x10000), tests::malloc_event(200, 0x20000),
           tests::malloc_event(30, 0x30000), tests::free_event(0x10000),
           tests::realloc_event(0x20000, 50, 0x20000), tests::malloc_event(7, 0x40000),
           tests::free_event(0x40000)});
  }
  RunResult run() {
    ReplayOptions options = tests::replay_options({"model:ptmalloc"});
    options.from = 4;
    auto tape = schema::TapeReader::open(dir_.file("tape"));
    options.moments = *find_moments(*tape, UINT64_MAX, {}, nullptr, options.from);
    auto runs = replayer::replay(*tape, options, {});
    EXPECT_TRUE(runs.ok());
    return runs.ok() ? std::move(runs->at(0)) : RunResult();
  }
};

TEST_F(SmallRange, BeginsWithItsPeak) {
  const RunResult result = run();
  const RunMetrics& metrics = result.metrics;
  EXPECT_EQ(metrics.live_bytes_peak.value, 1230u);
  EXPECT_EQ(metrics.live_bytes_peak.at, 3u);
  EXPECT_EQ(metrics.committed_bytes_peak.at, 3u);
  EXPECT_EQ(metrics.live_bytes_at_committed_peak, 1230u);
  ASSERT_FALSE(metrics.moments.empty());
  const MomentState& peak = metrics.moments.front();
  EXPECT_EQ(peak.moment.name, "peak");
  EXPECT_EQ(peak.snapshot.at, 3u);
  EXPECT_EQ(peak.snapshot.live.live_bytes, 1230u);
  EXPECT_EQ(peak.snapshot.live.cumulative_bytes_upper, 0u) << "no call of the range yet";
}

TEST_F(SmallRange, CountsItsOwnCalls) {
  const RunResult result = run();
  const LiveValues& live = result.metrics.end.live;
  EXPECT_EQ(live.live_bytes, 80u);
  EXPECT_EQ(live.cumulative_bytes_upper, 57u);
  EXPECT_EQ(live.cumulative_bytes_lower, 0u) << "it asked for less than a block shrank by";
  EXPECT_EQ(live.temporaries, 1u);
  EXPECT_EQ(result.metrics.resizes.in_place, 1u);
}

TEST_F(SmallRange, HasLifetimesOfItsOwnBlocksAndSizesOfAllLiveOnes) {
  const auto program = run().program;
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(program->lifetimes().blocks(), 1u);
  EXPECT_EQ(program->lifetimes().in_calls().total(), 1u) << "not that of the block from before";
  const auto& bands = program->sizes().bands();
  EXPECT_EQ(bands[9].calls, 0u);
  EXPECT_EQ(bands[9].kept_count, 1u) << "the 1,000 bytes at the peak";
  EXPECT_EQ(bands[5].calls, 1u) << "the resize";
  EXPECT_EQ(bands[4].live_count, 1u);
  EXPECT_EQ(program->growth_chains().in_place(), 1u);
  EXPECT_EQ(program->peak_cohorts().list().size(), 3u);
}

TEST_F(SmallRange, HoldsNoBlockThatWasFreedBefore) {
  write({tests::malloc_event(10, 0x10000), tests::malloc_event(2000, 0x20000),
         tests::free_event(0x20000), tests::realloc_event(0x10000, 20, 0x10000)});
  const auto program = run().program;
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(program->sizes().bands()[10].live_count, 0u);
  EXPECT_EQ(program->sizes().bands()[4].live_count, 1u);
}

TEST_F(SmallRange, SaysSoInANote) {
  const std::vector<std::string> notes = run().notes;
  ASSERT_FALSE(notes.empty());
  EXPECT_TRUE(notes.front().starts_with("the figures are of calls #4 to #7 alone")) << notes[0];
}

TEST_F(SmallRange, CountsResizesOfEarlierGrowthAsNone) {
  write({tests::malloc_event(10, 0x10000), tests::realloc_event(0x10000, 20, 0x10000),
         tests::realloc_event(0x10000, 40, 0x10000), tests::realloc_event(0x10000, 80, 0x10000)});
  const auto program = run().program;
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(program->growth_chains().in_place(), 1u);
  EXPECT_EQ(program->growth_chains().count(), 0u) << "one growth is no chain";
}

TEST_F(RangeTest, HasTheMarksAndSamplesWithin) {
  const auto writer =
      std::move(*schema::TapeWriter::create(dir_.file("tape"), tests::sample_header()));
  for (uint64_t i = 1; i <= 10; ++i) {
    writer->append(tests::malloc_event(100, 0x10000 + 128 * i));
    writer->add_mark("m" + std::to_string(i), i);
    writer->add_sample({0, i, 4096 * i, {}, {4096, 0, 0, 0}});
  }
  ASSERT_TRUE(writer->finish({}).ok());
  auto tape = schema::TapeReader::open(dir_.file("tape"));
  std::vector<schema::ProcessSample> process;
  const auto moments = find_moments(*tape, 7, {}, &process, 5);
  std::string names;
  for (const Moment& moment : *moments) {
    names += moment.name + "@" + std::to_string(moment.event) + " ";
  }
  EXPECT_EQ(names, "mark:m4@4 mark:m5@5 mark:m6@6 peak@7 exit@7 end@7 mark:m7@7 ");
  ASSERT_EQ(process.size(), 4u);
  EXPECT_EQ(process.front().event, 4u);
}

TEST_F(RangeTest, TimesItsOwnCalls) {
  Events events;
  for (int i = 0; i < 40'000; ++i) {
    events.push_back(tests::malloc_event(24, 0x5000));
    events.push_back(tests::free_event(0x5000));
  }
  tests::write_tape(dir_.file("tape"), events);
  ReplayOptions options = tests::replay_options({"glibc"});
  const auto timed_calls = [&](uint64_t from, uint64_t until, bool times) {
    options.from = from;
    options.until = until;
    options.times = times;
    uint64_t calls = 0;
    const RunMetrics run = tests::replay_tape(dir_.file("tape"), options).at(0);
    for (const LatencyRange& latency : run.latencies) {
      EXPECT_TRUE(latency.middle.max_event >= from || latency.middle.samples == 0);
      calls += latency.middle.sizes.empty() ? latency.middle.samples : 0;
    }
    EXPECT_GT(run.replay_ns, 0u);
    return calls;
  };
  for (const bool times : {true, false}) {
    const uint64_t before = timed_calls(1, 60'000, times);
    const uint64_t whole = timed_calls(1, 80'000, times);
    EXPECT_EQ(timed_calls(60'001, 80'000, times), whole - before);
  }
}

// Between two samples, and lower than a peak before the range.
TEST_F(RangeTest, MeasuresItsOwnShortPeaks) {
  const Events pairs = {tests::malloc_event(128 << 20, 0x10000000), tests::free_event(0x10000000),
                        tests::malloc_event(100, 0x1000), tests::malloc_event(64 << 20, 0x10000000),
                        tests::free_event(0x10000000)};
  ReplayOptions options = tests::replay_options({"model:ptmalloc", "glibc"});
  options.from = 3;
  options.samples = 1;
  for (const RunMetrics& run : tests::replay_events(pairs, options)) {
    EXPECT_GE(run.resident_bytes_peak.value, uint64_t{64} << 20);
    EXPECT_LT(run.resident_bytes_peak.value, uint64_t{128} << 20);
    EXPECT_EQ(run.resident_bytes_peak.at, 4u);
  }
}

// Where the range only frees, the resident peak is the state before it.
TEST_F(RangeTest, MeasuresWhereItBegins) {
  const Events events = {tests::malloc_event(64 << 20, 0x10000000), tests::free_event(0x10000000)};
  ReplayOptions options = tests::replay_options({"glibc"});
  options.from = 2;
  const RunMetrics run = tests::replay_events(events, options).at(0);
  EXPECT_GE(run.resident_bytes_peak.value, uint64_t{64} << 20);
  EXPECT_EQ(run.resident_bytes_peak.at, 1u);
}

TEST_F(RangeTest, RefusesActionsBeforeIt) {
  write_plausible();
  ReplayOptions options = tests::replay_options({"glibc"});
  options.from = 100;
  options.actions = {{"trim", 98}};
  auto tape = schema::TapeReader::open(dir_.file("tape"));
  const auto refused = replayer::replay(*tape, options, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("'trim@98' comes before the range"), std::string::npos);
  options.actions = {{"trim", 99}};
  const auto runs = tests::replay_tape(dir_.file("tape"), options);
  ASSERT_EQ(runs.at(0).actions.size(), 1u);
  EXPECT_EQ(runs[0].actions[0].at, 99u);
}

}  // namespace
}  // namespace heaptape::replayer
