// A replay repeats the calls by which the program steered its allocator, where it made them.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "replayer/engine/batch_source.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/replays.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::replayer {
namespace {

using allocators::Steer;
using schema::SteeringOp;

constexpr uint64_t kBlockBytes = 100'000;

class Steering : public testing::Test {
 protected:
  void allocate(uint64_t count) {
    for (; count > 0; --count) {
      tape_->append(tests::malloc_event(kBlockBytes, 0x5000 + (kBlockBytes + 96) * blocks_++));
    }
  }
  void free_all() {
    for (; freed_ < blocks_; ++freed_) {
      tape_->append(tests::free_event(0x5000 + (kBlockBytes + 96) * freed_));
    }
  }
  void steer(SteeringOp op, int64_t first = 0, int64_t second = 0) {
    tape_->add_steering({.op = op, .first = first, .second = second});
  }
  void finish() {
    if (tape_ != nullptr) {
      EXPECT_TRUE(tape_->finish({}).ok());
    }
    tape_.reset();
  }
  RunMetrics replay(const std::string& spec, Steer steer = Steer::kAsRecorded) {
    finish();
    ReplayOptions options = tests::replay_options({spec});
    options.steer = steer;
    auto runs = tests::replay_tape(dir_.file("t"), options);
    return runs.empty() ? RunMetrics() : std::move(runs[0]);
  }
  // Where the batches end that have something to steer behind them: calls, and how many.
  std::vector<std::pair<uint64_t, size_t>> places(const ReplayOptions& options) {
    finish();
    auto tape = schema::TapeReader::open(dir_.file("t"));
    EXPECT_TRUE(tape.ok());
    const DeathTimes deaths;
    BatchSource source(*tape, tape->events(), options, deaths);
    PlannedBatch batch;
    std::vector<std::pair<uint64_t, size_t>> found;
    uint64_t done = 0;
    for (;;) {
      const auto is_there = source.next(batch);
      EXPECT_TRUE(is_there.ok());
      if (!is_there.ok() || !*is_there) break;
      EXPECT_EQ(batch.ops.first_event, done);
      done += batch.ops.ops.size();
      EXPECT_EQ(batch.done, done);
      if (!batch.ops.steering.empty()) {
        found.emplace_back(done, batch.ops.steering.size());
        EXPECT_FALSE(batch.lets_go_on());
      }
    }
    EXPECT_EQ(done, tape->events());
    return found;
  }

  tests::TempDir dir_;
  std::unique_ptr<schema::TapeWriter> tape_ =
      std::move(*schema::TapeWriter::create(dir_.file("t"), tests::sample_header()));
  uint64_t blocks_ = 0;
  uint64_t freed_ = 0;
};

TEST_F(Steering, ComesBeforeTheFirstCallAndBehindTheLast) {
  steer(SteeringOp::kMallopt, M_MXFAST, 0);
  allocate(3);
  steer(SteeringOp::kMallocTrim);
  steer(SteeringOp::kMallocTrim);
  tape_->flush();
  steer(SteeringOp::kMallocTrim);
  allocate(1);
  tape_->flush();
  steer(SteeringOp::kMallocTrim);
  const std::vector<std::pair<uint64_t, size_t>> expected = {{0, 1}, {3, 2}, {3, 1}, {4, 1}};
  EXPECT_EQ(places({}), expected);
}

TEST_F(Steering, CutsBatchesThatLivePeaksCutToo) {
  for (int i = 0; i < 50; ++i) {
    allocate(20);
    steer(SteeringOp::kMallocTrim);
    free_all();
  }
  std::vector<std::pair<uint64_t, size_t>> expected;
  for (uint64_t i = 0; i < 50; ++i) expected.emplace_back(20 + 40 * i, 1);
  EXPECT_EQ(places({}), expected);
}

TEST_F(Steering, CanBeSwitchedOff) {
  allocate(3);
  steer(SteeringOp::kMallocTrim);
  ReplayOptions options;
  options.steer = Steer::kOff;
  EXPECT_TRUE(places(options).empty());
}

// The thread's cache is flushed, and then it ends: once each.
TEST_F(Steering, OfAThreadComesBeforeItsEnd) {
  for (const bool is_last : {true, false}) {
    SCOPED_TRACE(is_last);
    auto tape = std::move(*schema::TapeWriter::create(dir_.file("u"), tests::sample_header()));
    tape->append(tests::malloc_event(100, 0x5000, 0));
    tape->append(tests::malloc_event(100, 0x6000, 1));
    tape->append(tests::free_event(0x6000, 1));
    tape->add_steering({.thread = 1, .op = SteeringOp::kFlushThreadCache});
    tape->add_end(1);
    if (!is_last) tape->flush();
    tape->append(tests::malloc_event(100, 0x6000, 2));
    ASSERT_TRUE(tape->finish({}).ok());
    auto reader = schema::TapeReader::open(dir_.file("u"));
    const DeathTimes deaths;
    const ReplayOptions options;
    BatchSource source(*reader, reader->events(), options, deaths);
    PlannedBatch batch;
    std::vector<schema::ThreadEnd> ends;
    while (*source.next(batch)) {
      ends.insert(ends.end(), batch.ops.thread_ends.begin(), batch.ops.thread_ends.end());
      if (batch.ops.steering.empty()) continue;
      EXPECT_EQ(batch.done, 3u);
      EXPECT_TRUE(ends.empty());
    }
    EXPECT_EQ(ends, (std::vector<schema::ThreadEnd>{{3, 1}}));
    const auto runs =
        tests::replay_tape(dir_.file("u"), tests::replay_options({"model:slabs", "jemalloc"}));
    EXPECT_EQ(runs.size(), 2u);
  }
}

TEST_F(Steering, OfATapeWithoutCallsIsTakenToo) {
  steer(SteeringOp::kMallocTrim);
  const std::vector<std::pair<uint64_t, size_t>> expected = {{0, 1}};
  EXPECT_EQ(places({}), expected);
}

// The block before the last free pins what was freed before it.
TEST_F(Steering, GivesMemoryBackWhereTheProgramDid) {
  allocate(100);
  allocate(1);
  blocks_ -= 1;
  free_all();
  steer(SteeringOp::kMallocTrim);
  for (const char* const spec : {"glibc", "model:ptmalloc", "jemalloc", "model:slabs"}) {
    const uint64_t with = replay(spec).end.resident_bytes;
    const uint64_t without = replay(spec, Steer::kOff).end.resident_bytes;
    EXPECT_LT(with, 2'000'000u) << spec;
    EXPECT_GT(without, 8'000'000u) << spec;
  }
}

TEST_F(Steering, SetsTheAllocatorUpAsTheProgramDid) {
  steer(SteeringOp::kMallopt, M_MMAP_THRESHOLD, 65536);
  allocate(1);
  allocate(100);
  for (const char* const spec : {"glibc", "model:ptmalloc"}) {
    EXPECT_GT(replay(spec).end.committed_bytes,
              replay(spec, Steer::kOff).end.committed_bytes + 100'000)
        << spec << ": each block has a mapping, in whole pages";
  }
}

// What the real allocator and its model make of one tape is the same.
TEST_F(Steering, MakesTheModelDoWhatGlibcDoes) {
  steer(SteeringOp::kMallopt, M_TOP_PAD, 1 << 20);
  allocate(50);
  steer(SteeringOp::kMallopt, M_MMAP_THRESHOLD, 65536);
  allocate(50);
  steer(SteeringOp::kMallocTrim, 1 << 16);
  free_all();
  steer(SteeringOp::kMallopt, M_MXFAST, 0);
  allocate(20);
  steer(SteeringOp::kMallocTrim, 0);
  const RunMetrics real = replay("glibc");
  const RunMetrics model = replay("model:ptmalloc");
  EXPECT_EQ(real.end.committed_bytes, model.end.committed_bytes);
  EXPECT_EQ(real.committed_bytes_peak.value, model.committed_bytes_peak.value);
  EXPECT_EQ(real.end.resident_bytes, model.end.resident_bytes);
}

// By threads that are on the tape, by one that is not, and by one for all.
TEST_F(Steering, IsRepeatedByEachThread) {
  for (uint32_t thread = 0; thread < 4; ++thread) {
    tape_->append(tests::malloc_event(100, 0x100000 + 0x1000 * thread, thread));
    for (const SteeringOp op : {SteeringOp::kFlushThreadCache, SteeringOp::kEnableThreadCache,
                                SteeringOp::kArenaPurge, SteeringOp::kBackgroundThread}) {
      tape_->add_steering({.thread = 2 * thread, .op = op, .first = 4096});
    }
  }
  finish();
  using allocators::Threads;
  for (const Threads threads :
       {Threads::kOrdered, Threads::kLockStep, Threads::kFree, Threads::kMerged}) {
    ReplayOptions options = tests::replay_options({"jemalloc"});
    options.threads = threads;
    auto tape = schema::TapeReader::open(dir_.file("t"));
    const auto results = replayer::replay(*tape, options, {});
    ASSERT_TRUE(results.ok()) << results.error().message;
    EXPECT_FALSE(results->at(0).failure) << results->at(0).failure->text;
    const auto& notes = results->at(0).notes;
    const bool omits = std::ranges::any_of(notes, [](const std::string& note) {
      return note.find("omitted, because that cannot be done here") != note.npos;
    });
    EXPECT_EQ(omits, threads == Threads::kMerged);
  }
}

// The time that has passed is known by then. The first decay sees the free pages as new ones.
TEST_F(Steering, ComesAtTheTimeAtWhichTheProgramDidIt) {
  allocate(100);
  steer(SteeringOp::kArenaDirtyDecay, 4096, 1000);
  free_all();
  for (const uint64_t seconds : {60, 120}) {
    tape_->add_time(seconds * 1'000'000'000);
    steer(SteeringOp::kArenaDecay, 4096);
    allocate(1);
  }
  EXPECT_LT(replay("model:slabs").end.resident_bytes, 2'000'000u);
}

// Pinned holes of 100 kB are no room for blocks of 120 kB: fewer bytes are live than before, and
// more are resident, up to the trim.
TEST_F(Steering, ComesAfterAPeakOfResidentBytes) {
  uint64_t at = 0x100000;
  const auto allocate_one = [&](uint64_t bytes) {
    tape_->append(tests::malloc_event(bytes, at));
    return std::exchange(at, at + bytes / 16 * 16 + 32);
  };
  std::vector<uint64_t> blocks;
  for (int i = 0; i < 100; ++i) {
    blocks.push_back(allocate_one(100'000));
    allocate_one(40);
  }
  for (const uint64_t block : blocks) tape_->append(tests::free_event(block));
  for (int i = 0; i < 70; ++i) allocate_one(120'000);
  steer(SteeringOp::kMallocTrim);
  finish();
  ReplayOptions options = tests::replay_options({"glibc"});
  options.samples = 1;
  const auto runs = tests::replay_tape(dir_.file("t"), options);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_GT(runs[0].resident_bytes_peak.value, 17'000'000u);
  EXPECT_LT(runs[0].end.resident_bytes, 12'000'000u);
}

// As no recorder writes: all at one call.
TEST_F(Steering, OfManyThreadsThatEndThereIsTaken) {
  constexpr uint32_t kThreads = 30'000;
  allocate(1);
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    tape_->add_steering({.thread = thread, .op = SteeringOp::kMallopt, .first = M_PERTURB});
    tape_->add_end(thread);
  }
  allocate(1);
  const std::vector<std::pair<uint64_t, size_t>> expected = {{1, kThreads}};
  EXPECT_EQ(places({}), expected);
}

TEST_F(Steering, ByTheThousandIsTaken) {
  for (int i = 0; i < 3000; ++i) {
    allocate(1);
    steer(SteeringOp::kMallopt, M_PERTURB, 0);
    free_all();
  }
  EXPECT_EQ(replay("glibc").accounting.replayed, 6000u);
}

}  // namespace
}  // namespace heaptape::replayer
