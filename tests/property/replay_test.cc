// Whatever the tape, a replay keeps blocks apart, adds up, and repeats.
#include <gtest/gtest.h>

#include "tests/support/placement_checker.h"
#include "tests/support/replays.h"
#include "tests/support/seeded_random.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::replayer {
namespace {

using schema::Event;

class AnyReplay : public testing::Test {
 protected:
  std::vector<Event> events(size_t count, bool losses = false) {
    return tests::eventful_events(random_, count, 16, losses);
  }

  // Replays in batches of any size, and checks what the allocator says of each event.
  void check(const std::vector<Event>& events, const std::string& spec_text) {
    SCOPED_TRACE(spec_text);
    schema::TapeHeader header = tests::sample_header();
    header.allocator = "libmine.so";  // what the tapes here were not made by is glibc
    auto backend = allocators::parse_spec(spec_text)->make({&header});
    tests::PlacementChecker checker;
    SlotResolver resolver;
    ResolvedBatch batch;
    allocators::BatchResult result;
    checker.start(*backend->start());
    for (size_t at = 0; at < events.size() && !HasFatalFailure(); at += batch.ops.size()) {
      const size_t count = std::min<size_t>(events.size() - at, 1 + random_.below(2000));
      ASSERT_TRUE(resolver.resolve(std::span(events).subspan(at, count), at, batch).ok());
      ASSERT_TRUE(
          backend->submit({at, batch.slot_limit, batch.ops, batch.recorded_addresses, {}}).ok());
      ASSERT_TRUE(backend->collect(result).ok());
      checker.add(batch, result);
    }
    EXPECT_EQ(checker.blocks(), resolver.live().values().live_count);
  }

  RunMetrics replayed(const std::vector<Event>& events, const std::string& spec,
                      uint32_t samples = 16) {
    ReplayOptions options = tests::replay_options({spec});
    options.samples = samples;
    auto runs = tests::replay_events(events, options, tests::sample_header());
    return runs.empty() ? RunMetrics() : std::move(runs[0]);
  }

  tests::SeededRandom random_;
};

TEST_F(AnyReplay, KeepsBlocksApartOnMemoryThatTheModelHolds) {
  check(events(60000), "model:runs");
}

TEST_F(AnyReplay, KeepsBlocksApartOnMemoryThatGlibcHolds) {
  check(events(60000), "glibc");
  check(events(20000), "glibc GLIBC_TUNABLES=glibc.malloc.mmap_threshold=20000");
}

TEST_F(AnyReplay, KeepsBlocksApartOnMemoryThatOtherAllocatorsHold) {
  for (const char* spec : {"jemalloc", "mimalloc", "tcmalloc"}) check(events(40000), spec);
}

TEST_F(AnyReplay, KeepsRecordedBlocksOnCommittedMemory) {
  check(tests::plausible_events(random_, 40000), "recorded");
}

TEST_F(AnyReplay, KeepsBlocksOfADoubtfulTapeApart) {
  for (const char* spec : {"model:runs", "glibc"}) check(events(20000, true), spec);
}

TEST_F(AnyReplay, AccountsForEveryEvent) {
  const auto tape = events(30000, true);
  for (const char* spec : {"model:runs", "glibc", "noop", "recorded"}) {
    const Accounting sum = replayed(tape, spec).accounting;
    EXPECT_EQ(sum.recorded, tape.size()) << spec;
    EXPECT_EQ(sum.replayed + sum.failed_calls + sum.unknown_frees + sum.refused, sum.recorded)
        << spec;
    EXPECT_EQ(sum.refused, 0u) << spec;
  }
}

TEST_F(AnyReplay, SaysTheSameOfTheProgramWhateverTheAllocator) {
  const auto tape = events(30000);
  const LiveValues expected = replayed(tape, "noop").end.live;
  for (const char* spec : {"model:runs", "glibc", "recorded"}) {
    const LiveValues live = replayed(tape, spec).end.live;
    EXPECT_EQ(live.live_bytes, expected.live_bytes) << spec;
    EXPECT_EQ(live.live_count, expected.live_count) << spec;
    EXPECT_EQ(live.cumulative_bytes_upper, expected.cumulative_bytes_upper) << spec;
  }
}

// jemalloc by itself purges by the clock, and so does mimalloc.
constexpr char kTimelessJemalloc[] = "jemalloc MALLOC_CONF=dirty_decay_ms:-1,muzzy_decay_ms:-1";

TEST_F(AnyReplay, SaysTheSameTwice) {
  const auto tape = events(30000);
  for (const char* spec : {"model:runs", "glibc", kTimelessJemalloc, "tcmalloc", "recorded"}) {
    EXPECT_EQ(tests::lasting_text(replayed(tape, spec)), tests::lasting_text(replayed(tape, spec)))
        << spec;
  }
}

// Samples cut the events into other batches.
TEST_F(AnyReplay, SaysTheSameHoweverManySamplesItTakes) {
  const auto tape = events(30000);
  for (const char* spec : {"model:runs", "glibc", kTimelessJemalloc, "recorded", "noop"}) {
    const std::string expected = tests::lasting_text_without_samples(replayed(tape, spec, 1));
    for (const uint32_t samples : {3u, 1000u}) {
      EXPECT_EQ(tests::lasting_text_without_samples(replayed(tape, spec, samples)), expected)
          << spec << ", " << samples << " samples";
    }
  }
}

TEST_F(AnyReplay, SaysTheSameOfAnAllocatorAloneAndAmongOthers) {
  const auto tape = events(30000);
  const std::vector<std::string> specs = {"glibc", "recorded", "model:runs", "a=glibc", "noop"};
  const auto together =
      tests::replay_events(tape, tests::replay_options(specs), tests::sample_header());
  ASSERT_EQ(together.size(), specs.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    EXPECT_EQ(tests::lasting_text(together[i]), tests::lasting_text(replayed(tape, specs[i], 256)))
        << specs[i];
  }
}

// Process samples that lie anywhere between the events, under any cut into batches.
TEST_F(AnyReplay, AppliesTheSamplesOfTheProcessWhereverBatchesEnd) {
  const tests::TempDir dir;
  const auto tape = events(5000);
  tests::write_sampled_tape(dir.file("t"), tape, random_);
  std::vector<std::string> texts;
  for (const uint32_t samples : {1u, 7u, 100u, 5000u}) {
    ReplayOptions options = tests::replay_options({"recorded"});
    options.samples = samples;
    texts.push_back(
        tests::lasting_text_without_samples(tests::replay_tape(dir.file("t"), options).at(0)));
    EXPECT_EQ(texts.back(), texts.front()) << samples << " samples";
  }
}

}  // namespace
}  // namespace heaptape::replayer
