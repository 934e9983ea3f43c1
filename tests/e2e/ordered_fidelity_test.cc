// Recorded programs of several threads on glibc, in the order of the tape: every block where it
// was, in the arena in which it was. The ends of threads are taken to be after their last calls.
#include <gtest/gtest.h>

#include <unordered_map>

#include "allocators/native/native_backend.h"
#include "replayer/engine/slot_resolver.h"
#include "schema/tape/tape_reader.h"
#include "tests/support/programs.h"
#include "tests/support/recordings.h"
#include "tests/support/tapes.h"

namespace heaptape {
namespace {

using allocators::NativeBackend;
using allocators::Threads;

// An arena other than the first is in heaps of this size, on multiples of it. The first is where
// the program break was.
constexpr uint64_t kHeapBytes = 64 << 20;

// Blocks as large may be mappings of their own, whose places say nothing.
constexpr uint64_t kMappedBytes = 128 << 10;

struct Place {
  uint64_t heap;
  uint64_t offset;
};

Place place_of(uint64_t address, uint64_t initial_break) {
  if (address - initial_break < allocators::kHeapSpanBytes) return {0, address - initial_break};
  return {address / kHeapBytes, address % kHeapBytes};
}

class OrderedReplay {
 public:
  OrderedReplay(const std::string& path, Threads threads) {
    auto tape = schema::TapeReader::open(path);
    recorded_break_ = tape->header().initial_break;
    const auto events = tests::read_events(*tape);
    EXPECT_TRUE(replayer::SlotResolver().resolve(events, 0, batch_).ok());
    std::unordered_map<uint32_t, uint64_t> last_calls;
    for (size_t i = 0; i < events.size(); ++i) last_calls[events[i].thread] = i;
    for (size_t i = 0; i < events.size(); ++i) {
      const uint32_t thread = events[i].thread;
      if (last_calls[thread] == i) batch_.thread_ends.push_back({i + 1, thread});
    }
    allocators::NativeOptions options{.name = "glibc"};
    options.threads = threads;
    replay(NativeBackend(options));
  }

  uint64_t compared() const { return compared_; }
  double same_share() const { return static_cast<double>(same_) / static_cast<double>(compared_); }

 private:
  void replay(NativeBackend backend) {
    ASSERT_TRUE(backend.start().ok());
    allocators::ReplayBatch batch{0, batch_.slot_limit, batch_.ops, {}, {}};
    batch.thread_ends = batch_.thread_ends;
    allocators::BatchResult result;
    ASSERT_TRUE(backend.submit(batch).ok());
    ASSERT_TRUE(backend.collect(result).ok());
    for (size_t i = 0; i < batch_.ops.size(); ++i) {
      if (batch_.ops[i].size >= kMappedBytes || result.placements[i].address == 0) continue;
      compare(place_of(batch_.recorded_addresses[i], recorded_break_),
              place_of(result.placements[i].address, backend.traits().initial_break));
    }
  }
  void compare(Place recorded, Place replayed) {
    const uint64_t heap = heaps_.emplace(recorded.heap, replayed.heap).first->second;
    ++compared_;
    same_ += recorded.offset == replayed.offset && heap == replayed.heap;
  }

  replayer::ResolvedBatch batch_;
  std::unordered_map<uint64_t, uint64_t> heaps_;  // of the recorded run, to those of the replay
  uint64_t recorded_break_ = 0;
  uint64_t compared_ = 0;
  uint64_t same_ = 0;
};

class ThreadsOnGlibc : public testing::Test {
 protected:
  void SetUp() override {
    const std::string reason = tests::not_glibc_2_36();
    if (!reason.empty()) GTEST_SKIP() << reason;
  }
  const tests::TempDir dir_;
};

TEST_F(ThreadsOnGlibc, AreReplayedBlockForBlockOneAfterAnother) {
  const std::string tape = tests::record(dir_, {tests::target_path("replay_threads")});
  const OrderedReplay ordered(tape, Threads::kOrdered);
  EXPECT_GT(ordered.compared(), 60000u);
  EXPECT_EQ(ordered.same_share(), 1.0);
  EXPECT_LT(OrderedReplay(tape, Threads::kMerged).same_share(), 0.5);
}

// They free each other's blocks.
TEST_F(ThreadsOnGlibc, AreReplayedBlockForBlockTakingTurns) {
  const std::string tape =
      tests::record(dir_, {tests::target_path("replay_fuzz"), "1", "40000", "8"});
  const OrderedReplay ordered(tape, Threads::kOrdered);
  EXPECT_GT(ordered.compared(), 20000u);
  EXPECT_GE(ordered.same_share(), 0.999);
}

// With blocks of their own: where two use one arena at the same moment, a tape cannot say who came
// first.
TEST_F(ThreadsOnGlibc, AreReplayedBlockForBlockAtTheSameTime) {
  const std::string tape =
      tests::record(dir_, {tests::target_path("replay_shared_blocks"), "8", "400000", "own"});
  const OrderedReplay ordered(tape, Threads::kOrdered);
  EXPECT_GT(ordered.compared(), 100000u);
  EXPECT_GE(ordered.same_share(), 0.99);
}

}  // namespace
}  // namespace heaptape
