// Programs of several threads: one order that a heap could have, and nothing lost.
#include <sys/resource.h>

#include <set>
#include <sstream>

#include "schema/tape/tape_reader.h"
#include "tests/e2e/record_fixture.h"

namespace heaptape::tests {
namespace {

class RecordThreads : public RecordTest {
 protected:
  // What the program says of its calls.
  static std::vector<uint64_t> numbers(const Ended& ended) {
    EXPECT_EQ(ended.status, 0) << ended.describe();
    std::istringstream in(ended.out);
    std::vector<uint64_t> values;
    for (uint64_t value; in >> value;) values.push_back(value);
    return values;
  }
  // Calls that ask for an odd size, or give such a block up: the program's own, not libc's.
  static std::vector<uint64_t> own_calls(const Tape& tape) {
    uint64_t mallocs = 0, reallocs = 0, frees = 0;
    std::map<uint64_t, bool> is_own;
    for (const schema::Event& event : tape.events) {
      const bool odd = event.size % 2 != 0;
      if (event.op == schema::Op::kMalloc && odd) ++mallocs;
      if (event.op == schema::Op::kRealloc && odd) ++reallocs;
      if (event.op == schema::Op::kFree && is_own[event.freed_address]) ++frees;
      is_own[event.freed_address] = false;
      is_own[event.address] = odd;
    }
    return {mallocs, reallocs, frees};
  }
};

TEST_F(RecordThreads, ThatPassAndResizeEachOthersBlocksGiveAPossibleOrder) {
  const auto said = numbers(record({target_path("thread_exchange"), "4", "150000"}));
  const Tape tape = read_tape();
  EXPECT_TRUE(verifies());
  EXPECT_EQ(tape.summary.unknown_frees, 0u);
  EXPECT_EQ(own_calls(tape), said);
  const HeapWalk walk = walk_heap(tape.events);
  EXPECT_EQ(walk.doubly_given, 0u);
  EXPECT_EQ(walk.unknown_frees, 0u);
}

TEST_F(RecordThreads, ThatComeAndGoByTheThousandLoseNothing) {
  const auto said = numbers(record({target_path("thread_lives"), "churn", "12000"}));
  const Tape tape = read_tape();
  EXPECT_EQ(tape.mallocs_of(17) + tape.frees_of(17), said.at(0));
  EXPECT_TRUE(verifies());
}

// A thread that was joined has ended before the next one begins. What ends after the collector's
// last look before an exit has no end on the tape, so the program waits for that look.
TEST_F(RecordThreads, EndBeforeThoseThatComeAfterThem) {
  record({target_path("thread_lives"), "churn", "200", "300"});
  auto reader = schema::TapeReader::open(tape_path());
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  schema::EventBatch batch;
  ASSERT_TRUE(reader->read(batch, 1'000'000).ok());
  size_t ended = 0;
  // Beside the first. Two that begin between two looks of the collector may have their numbers in
  // either order.
  std::set<uint32_t> begun;
  for (size_t i = 0; i < batch.events.size(); ++i) {
    while (ended < batch.thread_ends.size() && batch.thread_ends[ended].event <= i) ++ended;
    const uint32_t thread = batch.events[i].thread;
    if (thread == 0 || !begun.insert(thread).second) continue;
    EXPECT_EQ(ended + 1, begun.size()) << "at call " << i;
  }
  EXPECT_EQ(begun.size(), 200u);
}

TEST_F(RecordThreads, MayAllocateWhileTheyEnd) {
  const auto said = numbers(record({target_path("thread_lives"), "ends", "50"}));
  const Tape tape = read_tape();
  const uint64_t seen = tape.mallocs_of(11) + tape.frees_of(11) + tape.mallocs_of(13) +
                        tape.frees_of(13) + tape.mallocs_of(15) + tape.frees_of(15);
  EXPECT_EQ(seen, said.at(0));
  EXPECT_EQ(seen, 50u * 10);
  EXPECT_TRUE(verifies());
}

TEST_F(RecordThreads, AreAllRecordedWhenTenThousandLiveAtOnce) {
  if (tests::kSanitized) GTEST_SKIP() << "a sanitized heaptape is late for so many threads";
  const Ended ended = record({target_path("thread_lives"), "crowd", "10000"});
  if (ended.status == 77) GTEST_SKIP() << "the system does not allow 10000 threads";
  const auto said = numbers(ended);
  const Tape tape = read_tape();
  EXPECT_EQ(tape.mallocs_of(19) + tape.frees_of(19), said.at(0));
  EXPECT_EQ(tape.summary.threads, 10'001u);
  EXPECT_TRUE(verifies());
}

// The limit leaves room for 256 rings.
TEST_F(RecordThreads, BeyondWhatASessionHoldsAreCountedAsLost) {
  const Words words = record_words({target_path("thread_lives"), "crowd", "300"});
  const auto said = numbers(run_command({.words = words, .before_exec = [] {
                                           const rlimit limit{200 << 20, 200 << 20};
                                           setrlimit(RLIMIT_FSIZE, &limit);
                                         }}));
  const Tape tape = read_tape();
  const uint64_t seen = tape.mallocs_of(19) + tape.frees_of(19);
  EXPECT_GE(seen, 2u * 255);
  EXPECT_GE(seen + tape.summary.losses.causes.no_ring, said.at(0));
  EXPECT_EQ(tape.summary.losses.causes.no_ring, tape.summary.losses.lost_events);
  EXPECT_FALSE(verifies());
}

// The merge must not wait for frees that nobody logs: 20 s in all, once.
TEST_F(RecordThreads, AreNotHeldUpByFreesThatNoHookSees) {
  const Ended ended = record({.words = {target_path("unseen_frees")}, .time_limit_seconds = 10});
  ASSERT_EQ(ended.status, 0) << ended.describe();
  const Tape tape = read_tape();
  EXPECT_EQ(tape.mallocs_of(101), 100u);
  EXPECT_GE(tape.summary.losses.unrepaired_inversions, 90u);
}

TEST_F(RecordThreads, LeaveTheTapeWholeInDropMode) {
  const auto said =
      numbers(record({target_path("thread_exchange"), "4", "150000"}, {"--on-full", "drop"}));
  const Tape tape = read_tape();
  const auto seen = own_calls(tape);
  EXPECT_LE(seen.at(0), said.at(0));
  const uint64_t lost = tape.summary.losses.lost_events;
  EXPECT_GE(seen[0] + seen[1] + lost, said[0] + said[1]);
}

}  // namespace
}  // namespace heaptape::tests
