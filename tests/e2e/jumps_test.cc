// Jumps out of malloc: the thread is recorded again, and what it did in between is a loss.
#include <sstream>

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

class Interrupted : public RecordTest {
 protected:
  struct Told {
    uint64_t calls = 0;  // that the program began
    uint64_t interruptions = 0;
    uint64_t on_tape = 0;
    uint64_t lost = 0;
  };
  Told record_interrupted(const std::string& mode, const std::string& pairs,
                          const std::string& library, const Words& options = {}) {
    const Ended ended = record(CommandLine{.words = {target_path("interrupted"), mode, pairs},
                                           .environment = {"LD_PRELOAD=" + library}},
                               options);
    EXPECT_EQ(ended.status, 0) << ended.describe();
    Told told;
    std::istringstream(ended.out) >> told.calls >> told.interruptions;
    const Tape tape = read_tape();
    told.on_tape = tape.events.size();
    told.lost = tape.summary.losses.lost_events;
    EXPECT_EQ(tape.summary.losses.lost_ranges, 0u);
    return told;
  }
  // None is missing without a word, and none counted twice. In the few instructions in which the
  // recorder notices a call that was left, a jump may do either: one of 200 runs counted one twice.
  void expect_all_accounted(const std::string& mode, const std::string& library,
                            const Words& options = {}) {
    const Told none = record_interrupted(mode, "0", library, options);
    const Told told = record_interrupted(mode, "300000", library, options);
    const uint64_t others = none.on_tape;  // of libc, at the start
    const uint64_t accounted = told.on_tape + told.lost - others;
    EXPECT_EQ(none.calls, none.lost);
    EXPECT_GT(told.interruptions, 20u);
    EXPECT_LE(accounted, told.calls + told.interruptions / 10) << told.interruptions;
    EXPECT_GE(accounted + told.interruptions / 10, told.calls) << told.interruptions;
    EXPECT_GT(told.lost, 0u);
  }
  static Words libraries() {
    Words all = {""};
    if (kSanitized) return all;
    for (const char* const name :
         {"libjemalloc.so.2", mimalloc_library(), "libtcmalloc_minimal.so.4"}) {
      all.push_back(name);
    }
    return all;
  }
};

TEST_F(Interrupted, CallsThatAreLeftByAJumpAreOnTheTapeOrLost) {
  for (const std::string& library : libraries()) {
    SCOPED_TRACE(library);
    expect_all_accounted("jump", library);
  }
}

TEST_F(Interrupted, CallsThatAreLeftWhileTheirStackIsTakenAreOnTheTapeOrLost) {
  expect_all_accounted("jump", "", {"--stacks", "dwarf"});
}

TEST_F(Interrupted, CallsOfAHandlerAreOnTheTapeOrLost) {
  for (const std::string& library : libraries()) {
    SCOPED_TRACE(library);
    expect_all_accounted("call", library);
  }
}

}  // namespace
}  // namespace heaptape::tests
