// A forked process replayed with the calls of its ancestors.
#include "replayer/engine/history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "schema/tape/tape_writer.h"
#include "tests/support/programs.h"
#include "tests/support/replays.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::replayer {
namespace {

using schema::Event;
using Events = std::vector<Event>;

const std::vector<std::string> kAllocators = {"model:ptmalloc", "model:runs",  "model:slabs",
                                              "model:best-fit", "model:ideal", "glibc"};

// The calls of one process, as if it had forked twice on the way: each of the three tapes has some.
class HistoryTest : public testing::Test {
 protected:
  void write_family(const Events& events, size_t first_fork, size_t second_fork) const {
    const auto begin = events.begin();
    const auto first = begin + static_cast<ptrdiff_t>(first_fork);
    const auto second = begin + static_cast<ptrdiff_t>(second_fork);
    const uint64_t second_start = kStartNs + first_fork * kStepNs;
    const uint64_t third_start = kStartNs + second_fork * kStepNs;
    write("whole.tape", kStartNs, {}, events, 0);
    write("first.tape", kStartNs, {}, Events(begin, first), 3 * first_fork);
    write("second.tape", second_start,
          {.tape = "first.tape", .start_unix_ns = kStartNs, .events = first_fork},
          Events(first, second), second_fork);
    write(
        "third.tape", third_start,
        {.tape = "second.tape", .start_unix_ns = second_start, .events = second_fork - first_fork},
        Events(second, events.end()), 0);
  }
  // Its calls, kStepNs apart, and `more` of its own behind the fork. Each tape begins with the
  // settings of the process.
  void write(const std::string& name, uint64_t start_unix_ns,
             const schema::Inheritance& inheritance, const Events& events, size_t more) const {
    schema::TapeHeader header = tests::sample_header();
    header.start_unix_ns = start_unix_ns;
    const auto tape = std::move(*schema::TapeWriter::create(dir_.file(name), header));
    if (!inheritance.tape.empty()) tape->add_inheritance(inheritance);
    for (const schema::SteeringCall& call : settings_) tape->add_steering(call);
    uint64_t time_ns = 0;
    for (const Event& event : events) {
      tape->append(event);
      tape->add_time(time_ns += kStepNs);
    }
    for (size_t i = 0; i < more; ++i) {
      tape->append(tests::malloc_event(100, 0x7fff00000000 + 112 * i));
    }
    EXPECT_TRUE(tape->finish({}).ok());
  }
  std::vector<RunMetrics> replay(const std::string& name, const ReplayOptions& options) const {
    return tests::replay_tape(dir_.file(name), options);
  }
  // Both end with the same heap, also if the third's is analyzed only `from` a call on.
  void expect_same_end(const ReplayOptions& options, uint64_t from = 1) const {
    const auto whole = replay("whole.tape", options);
    ReplayOptions thirds = options;
    thirds.from = from;
    const auto third = replay("third.tape", thirds);
    ASSERT_EQ(whole.size(), options.specs.size());
    ASSERT_EQ(third.size(), options.specs.size());
    for (size_t i = 0; i < whole.size(); ++i) {
      const Snapshot& expected = whole[i].end;
      const Snapshot& found = third[i].end;
      const std::string& name = options.specs[i].text;
      EXPECT_EQ(found.live.live_bytes, expected.live.live_bytes) << name;
      EXPECT_EQ(found.live.live_count, expected.live.live_count) << name;
      EXPECT_EQ(found.usable_bytes, expected.usable_bytes) << name;
      EXPECT_EQ(found.committed_bytes, expected.committed_bytes) << name;
      EXPECT_EQ(found.holes.bytes, expected.holes.bytes) << name;
      EXPECT_EQ(found.holes.count, expected.holes.count) << name;
      EXPECT_EQ(found.holes.largest, expected.holes.largest) << name;
      EXPECT_EQ(found.holes.top_bytes, expected.holes.top_bytes) << name;
      EXPECT_EQ(third[i].accounting.unknown_frees, 0u) << name;
      EXPECT_EQ(third[i].accounting.refused, 0u) << name;
    }
  }

  // The number of the call at which an allocator gives up that does so at its 100th allocation. The
  // parent makes that many, and frees ten of the blocks.
  uint64_t failing_call_behind(uint64_t parents_allocations) const {
    const auto address = [](uint64_t i) { return 0x100000 + 32 * i; };
    Events parent;
    for (uint64_t i = 0; i < parents_allocations; ++i) {
      parent.push_back(tests::malloc_event(16, address(i)));
    }
    for (uint64_t i = 0; i < 10; ++i) parent.push_back(tests::free_event(address(i)));
    Events child;
    for (uint64_t i = 1000; i < 1100; ++i) child.push_back(tests::malloc_event(16, address(i)));
    write("first.tape", 1, {}, parent, 0);
    write("second.tape", 2, {.tape = "first.tape", .start_unix_ns = 1, .events = parent.size()},
          child, 0);
    auto tape = schema::TapeReader::open(dir_.file("second.tape"));
    const std::string aborting = "lib:" + tests::target_path("libreplay_aborting_malloc.so");
    const auto runs = replayer::replay(*tape, tests::replay_options({aborting, "model:ideal"}), {});
    EXPECT_TRUE(runs.ok() && runs->front().failure && !runs->back().failure);
    return runs->front().failure->event;
  }

  static constexpr uint64_t kStartNs = 1'000'000'000;
  static constexpr uint64_t kStepNs = 5'000'000;

  tests::TempDir dir_;
  std::vector<schema::SteeringCall> settings_;
};

TEST_F(HistoryTest, LeavesTheHeapThatOneProcessWouldHave) {
  tests::Random random(tests::test_seed());
  for (int round = 0; round < 4; ++round) {
    write_family(tests::plausible_events(random, 6000), 1500 + random.below(1000),
                 3000 + random.below(2000));
    ReplayOptions options = tests::replay_options(kAllocators);
    options.times = false;
    expect_same_end(options);
  }
}

// Within the calls that hand out inherited blocks, right behind them, and later.
TEST_F(HistoryTest, IsBeforeARange) {
  tests::Random random(tests::test_seed());
  settings_ = {{.op = schema::SteeringOp::kMallopt, .first = -1, .second = 1 << 20}};
  write_family(tests::plausible_events(random, 6000), 2000, 4000);
  ReplayOptions options = tests::replay_options(kAllocators);
  options.times = false;
  const uint64_t inherited = schema::TapeReader::open(dir_.file("third.tape"))->joined_blocks();
  ASSERT_GT(inherited, 10u);
  for (const uint64_t from : {uint64_t{2}, inherited, inherited + 1, inherited + 700}) {
    SCOPED_TRACE(from);
    expect_same_end(options, from);
  }
}

// mallopt(3) joins free blocks: once more at a fork, and the heap would be another.
TEST_F(HistoryTest, RepeatsTheSettingsOfTheFirstProcessOnce) {
  settings_ = {
      {.op = schema::SteeringOp::kMallopt, .first = -1, .second = 1 << 20}};  // M_TRIM_THRESHOLD
  tests::Random random(tests::test_seed());
  for (int round = 0; round < 4; ++round) {
    write_family(tests::plausible_events(random, 6000), 1500 + random.below(1000),
                 3000 + random.below(2000));
    ReplayOptions options = tests::replay_options({"model:ptmalloc", "glibc"});
    options.times = false;
    expect_same_end(options);
  }
}

TEST_F(HistoryTest, IsTheSameSideBySideAndInThreads) {
  tests::Random random(tests::test_seed());
  write_family(tests::plausible_events(random, 6000), 2000, 4000);
  ReplayOptions options = tests::replay_options({"model:ptmalloc", "model:slabs", "glibc"});
  options.jobs = 2;
  expect_same_end(options);
  options.jobs = 1;
  options.repeats = 2;
  expect_same_end(options);
  options.threads = allocators::Threads::kMerged;
  expect_same_end(options);
}

TEST_F(HistoryTest, CountsFromTheForkOn) {
  // A parent that had much, and gave it back.
  Events events;
  for (uint64_t i = 0; i < 1000; ++i)
    events.push_back(tests::malloc_event(1000, 0x100000 + 1024 * i));
  for (uint64_t i = 0; i < 1000; ++i) events.push_back(tests::free_event(0x100000 + 1024 * i));
  events.push_back(tests::malloc_event(500, 0x100000));
  events.push_back(tests::malloc_event(700, 0x110000));
  const size_t fork = events.size();
  events.push_back(tests::free_event(0x110000));
  write_family(events, fork, fork);
  const auto runs = replay("third.tape", tests::replay_options({"model:ptmalloc", "model:ideal"}));
  for (const RunMetrics& run : runs) {
    EXPECT_EQ(run.live_bytes_peak.value, 1200u);
    EXPECT_EQ(run.live_count_peak.value, 2u);
    EXPECT_EQ(run.accounting.replayed, 3u);
    EXPECT_EQ(run.end.live.live_bytes, 500u);
    EXPECT_EQ(run.end.live.cumulative_bytes_upper, 1200u);
  }
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_LT(runs[0].committed_bytes_peak.value, 500'000u) << "the parent gave it back";
  EXPECT_EQ(runs[1].committed_bytes_peak.value, 4096u);
}

TEST_F(HistoryTest, TakesTheThreadThatForksForTheFirst) {
  Events parent;
  for (uint32_t thread = 0; thread < 3; ++thread) {
    for (uint64_t i = 0; i < 50; ++i) {
      parent.push_back(tests::malloc_event(200, 0x100000 * (thread + 1) + 208 * i, thread));
    }
  }
  write("first.tape", 1, {}, parent, 0);
  Events child;
  for (uint64_t i = 0; i < 50; ++i) child.push_back(tests::free_event(0x300000 + 208 * i));
  for (uint64_t i = 0; i < 50; ++i) child.push_back(tests::malloc_event(200, 0x300000 + 208 * i));
  write("second.tape", 2,
        {.tape = "first.tape", .start_unix_ns = 1, .events = parent.size(), .thread = 2}, child, 0);
  const auto runs = replay("second.tape", tests::replay_options({"model:ptmalloc"}));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].accounting.replayed, 250u);
  EXPECT_EQ(runs[0].accounting.refused, 0u);
  const auto arenas = std::ranges::find(runs[0].counters, "arenas", &allocators::Counter::name);
  ASSERT_NE(arenas, runs[0].counters.end());
  EXPECT_EQ(arenas->value, 3u) << "the child goes on in the third thread's";
}

// Its calls are not on the tape, and have no number there.
TEST_F(HistoryTest, MayBeTooMuchForAnAllocator) {
  EXPECT_EQ(failing_call_behind(500), 0u);
}

TEST_F(HistoryTest, DoesNotCountInTheNumberOfACallThatFails) {
  // Of 60 blocks 10 are freed, and the child's 40th call is the 100th allocation.
  EXPECT_EQ(failing_call_behind(60), 50u + 40u);
}

}  // namespace
}  // namespace heaptape::replayer
