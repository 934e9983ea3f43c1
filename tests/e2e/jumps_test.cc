// Jumps out of malloc: the thread is recorded again, and what it did in between is a loss.
#include "tests/e2e/record_fixture.h"

namespace heaptape::tests {
namespace {

class RecordJumps : public RecordTest {
 protected:
  // Of the calls of the program's own; each jump costs one more.
  static constexpr uint64_t kCalls = 10 * 1500;

  Tape record_jumps(const std::string& mode) {
    const Ended ended =
        record(CommandLine{.words = {target_path("jumps"), mode},
                           .environment = {"LD_PRELOAD=" + target_path("jumping_malloc.so")}});
    EXPECT_EQ(ended.status, 0) << ended.describe();
    return read_tape();
  }
};

TEST_F(RecordJumps, LoseOnlyTheCallThatTheyLeft) {
  if (kSanitized) GTEST_SKIP() << "LD_PRELOAD does not work with a sanitized heaptape";
  const Tape tape = record_jumps("shallow");
  EXPECT_EQ(tape.mallocs_of(101) + tape.frees_of(101), kCalls);
  EXPECT_EQ(tape.summary.losses.causes.left_hooks, 10u);
  EXPECT_FALSE(verifies());
}

// From below the hook that was left, calls look like the allocator's own, but not for ever.
TEST_F(RecordJumps, AreNoticedFromFurtherDownByTheNumberOfCalls) {
  if (kSanitized) GTEST_SKIP() << "LD_PRELOAD does not work with a sanitized heaptape";
  const Tape tape = record_jumps("deep");
  const uint64_t seen = tape.mallocs_of(101) + tape.frees_of(101);
  EXPECT_EQ(seen + tape.summary.losses.lost_events, kCalls + 10);
  EXPECT_EQ(tape.summary.nested_calls, 0u);
}

// The look-up must not be left half done: malloc would fail from then on.
TEST_F(RecordJumps, WaitForTheFirstCallToFindItsAllocator) {
  if (kSanitized) GTEST_SKIP() << "LD_PRELOAD does not work with a sanitized heaptape";
  const std::string library = target_path("interrupting_malloc.so");
  const Ended ended =
      record({"/bin/sh", "-c",
              "LD_PRELOAD=" + library + ":$LD_PRELOAD exec " + target_path("first_jump")});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  EXPECT_EQ(tape_that_asks_for(101).mallocs_of(101), 1000u);
}

}  // namespace
}  // namespace heaptape::tests
