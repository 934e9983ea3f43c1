// Where a replay takes its samples, and what short or odd tapes come to.
#include <gtest/gtest.h>

#include "schema/tape/tape_writer.h"
#include "tests/support/replays.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::replayer {
namespace {

using schema::Event;

std::vector<Event> some_events(size_t count) {
  tests::Random random(5);
  return tests::plausible_events(random, count);
}

RunMetrics replayed(const std::vector<Event>& events, uint32_t samples, uint64_t until = UINT64_MAX,
                    const std::string& spec = "model:runs") {
  ReplayOptions options = tests::replay_options({spec});
  options.samples = samples;
  options.until = until;
  auto runs = tests::replay_events(events, options);
  return runs.empty() ? RunMetrics() : std::move(runs[0]);
}

std::vector<uint64_t> points(size_t events, uint32_t samples, uint64_t until = UINT64_MAX) {
  std::vector<uint64_t> result;
  for (const Snapshot& snapshot : replayed(some_events(events), samples, until).timeline) {
    result.push_back(snapshot.at);
  }
  return result;
}

TEST(Timeline, HasJustAsManyPointsAsAskedFor) {
  for (const uint32_t samples : {1u, 2u, 3u, 7u, 100u, 255u, 256u, 257u, 999u, 1000u}) {
    EXPECT_EQ(points(1000, samples).size(), samples);
  }
}

TEST(Timeline, EndsAtTheLastEvent) {
  for (const uint32_t samples : {1u, 3u, 256u}) EXPECT_EQ(points(1000, samples).back(), 1000u);
}

TEST(Timeline, SpreadsItsPointsEvenly) {
  EXPECT_EQ(points(10, 4), (std::vector<uint64_t>{3, 5, 8, 10}));
  EXPECT_EQ(points(100, 3), (std::vector<uint64_t>{34, 67, 100}));
}

TEST(Timeline, HasAPointForEachEventOfAShortTape) {
  EXPECT_EQ(points(3, 256), (std::vector<uint64_t>{1, 2, 3}));
}

TEST(Timeline, StopsWhereTheReplayDoes) {
  EXPECT_EQ(points(1000, 2, 100), (std::vector<uint64_t>{50, 100}));
  EXPECT_EQ(points(50, 1, 100), (std::vector<uint64_t>{50}));
}

TEST(Timeline, OfNothingHasOnePoint) {
  EXPECT_EQ(points(0, 256), (std::vector<uint64_t>{0}));
  EXPECT_EQ(points(1000, 256, 0), (std::vector<uint64_t>{0}));
}

TEST(Replay, CountsOnlyWhatItReplayed) {
  const RunMetrics run = replayed(some_events(1000), 4, 100);
  EXPECT_EQ(run.accounting.recorded, 100u);
  EXPECT_EQ(run.accounting.replayed, 100u);
}

TEST(Replay, OfOneEventHasOneBlock) {
  for (const char* spec : {"recorded", "model:runs", "glibc", "noop"}) {
    const RunMetrics run =
        replayed({tests::malloc_event(100, 0x555555560010)}, 256, UINT64_MAX, spec);
    EXPECT_EQ(run.accounting.replayed, 1u) << spec;
    EXPECT_EQ(run.end.live.live_bytes, 100u) << spec;
    EXPECT_EQ(run.timeline.size(), 1u) << spec;
  }
}

TEST(Replay, OfFreesOfUnknownBlocksReplaysNothing) {
  const std::vector<Event> frees(1000, tests::free_event(0x10000));
  for (const char* spec : {"recorded", "model:runs", "glibc", "noop"}) {
    const RunMetrics run = replayed(frees, 10, UINT64_MAX, spec);
    EXPECT_EQ(run.accounting.unknown_frees, 1000u) << spec;
    EXPECT_EQ(run.accounting.replayed, 0u) << spec;
  }
}

TEST(Replay, GivesEachRunItsOwnMetricsInTheOrderAskedFor) {
  ReplayOptions options = tests::replay_options({"model:runs", "noop", "recorded"});
  const auto runs = tests::replay_events(some_events(1000), options, tests::sample_header());
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_GT(runs[0].end.committed_bytes, 0u);
  EXPECT_EQ(runs[1].end.committed_bytes, 0u);
  EXPECT_EQ(runs[2].same_offset_share, 1.0);
}

TEST(Replay, TellsItsProgress) {
  const tests::TempDir dir;
  tests::write_tape(dir.file("t"), some_events(1000));
  auto tape = schema::TapeReader::open(dir.file("t"));
  ReplayOptions options = tests::replay_options({"model:runs"});
  options.samples = 4;
  std::vector<double> shares;
  EXPECT_TRUE(replay(*tape, options, [&](double share) { shares.push_back(share); }).ok());
  EXPECT_EQ(shares, (std::vector<double>{0.25, 0.5, 0.75, 1}));
}

TEST(Replay, StopsAtTheFirstDamage) {
  const tests::TempDir dir;
  tests::write_tape(dir.file("t"), some_events(1000));
  std::string bytes = tests::read_bytes(dir.file("t"));
  auto whole = schema::TapeReader::open(dir.file("t"));
  bytes[whole->chunks()[1].offset + 100] ^= 4;
  tests::write_bytes(dir.file("t"), bytes);
  auto tape = schema::TapeReader::open(dir.file("t"));
  ASSERT_TRUE(tape.ok());
  const auto runs = replay(*tape, tests::replay_options({"noop"}), {});
  ASSERT_FALSE(runs.ok());
  EXPECT_EQ(runs.error().code, base::ErrorCode::kDamaged);
}

// The collector's last look at the process may come after the last event was written.
TEST(Replay, SeesTheLastSampleOfTheProcess) {
  const tests::TempDir dir;
  for (const size_t count : {0u, 3u}) {
    auto writer = schema::TapeWriter::create(dir.file("t"), tests::sample_header());
    for (const Event& event : some_events(count)) (*writer)->append(event);
    (*writer)->flush();
    (*writer)->add_sample({0, 0, 77 * 4096, {{0x555555559000, 0x555555579000}}});
    EXPECT_TRUE((*writer)->finish({}).ok());
    const auto runs = tests::replay_tape(dir.file("t"), tests::replay_options({"recorded"}));
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_EQ(runs[0].end.resident_bytes, 77 * 4096u) << count;
    EXPECT_EQ(runs[0].end.committed_bytes, 0x20000u) << count;
  }
}

}  // namespace
}  // namespace heaptape::replayer
