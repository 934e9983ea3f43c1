// What a replay makes of the thread ends on a tape. The caches of model:slabs show it: a thread
// that ends gives its cache back.
#include <gtest/gtest.h>

#include "schema/tape/tape_writer.h"
#include "tests/support/replays.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::replayer {
namespace {

class ThreadEnds : public testing::Test {
 protected:
  void call(uint32_t thread) {
    tape_->append(tests::malloc_event(100, 0x5000 + 128 * calls_++, thread));
  }
  uint64_t caches_given_back() {
    EXPECT_TRUE(tape_->finish({}).ok());
    const auto runs = tests::replay_tape(dir_.file("t"), tests::replay_options({"model:slabs"}));
    for (const auto& counter : runs.at(0).counters) {
      if (counter.name == "tcacheFlushes") return counter.value;
    }
    return UINT64_MAX;
  }

  // One more than a replay tells threads apart by.
  static constexpr uint32_t kSameNumberAs1 = (1 << 16) + 1;
  tests::TempDir dir_;
  std::unique_ptr<schema::TapeWriter> tape_ =
      std::move(*schema::TapeWriter::create(dir_.file("t"), tests::sample_header()));
  uint64_t calls_ = 0;
};

TEST_F(ThreadEnds, CountThoughTheyAreInAChunkBehindTheLastCall) {
  call(1);
  tape_->flush();
  tape_->add_end(1);
  EXPECT_EQ(caches_given_back(), 1u);
}

TEST_F(ThreadEnds, LeaveTheCacheToAnOlderThreadOfTheSameNumber) {
  call(1);
  call(kSameNumberAs1);
  tape_->add_end(kSameNumberAs1);
  call(1);
  EXPECT_EQ(caches_given_back(), 0u);
}

TEST_F(ThreadEnds, OfAllThreadsOfANumberEndIt) {
  call(1);
  call(kSameNumberAs1);
  tape_->add_end(kSameNumberAs1);
  tape_->add_end(1);
  EXPECT_EQ(caches_given_back(), 1u);
}

}  // namespace
}  // namespace heaptape::replayer
