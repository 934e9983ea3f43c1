// Runs `heaptape record` on real programs and looks at the tapes.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "schema/tape/event.h"
#include "schema/tape/manifest.h"
#include "schema/tape/tape_info.h"
#include "schema/tape/tape_reader.h"
#include "tests/support/programs.h"
#include "tests/support/temp_dir.h"

namespace heaptape::tests {

using Words = std::vector<std::string>;

// In the environment of the tests: what every recording gets as --stacks. Whatever holds without
// stacks holds with them.
inline constexpr const char* kStacksVariable = "HEAPTAPE_TEST_STACKS";

// What a tape holds.
struct Tape {
  schema::TapeHeader header;
  schema::TapeSummary summary;  // of a finished tape; else as made
  bool finished = false;
  std::vector<schema::Event> events;

  // Mallocs of `size` bytes.
  uint64_t mallocs_of(uint64_t size) const;
  // Frees of blocks that were of `size` bytes.
  uint64_t frees_of(uint64_t size) const;
  uint64_t count(schema::Op op) const;
};

// Follows a tape's blocks, and counts what cannot be.
struct HeapWalk {
  uint64_t doubly_given = 0;  // handed out while alive
  uint64_t unknown_frees = 0;
  uint64_t live = 0;  // at the end
};
HeapWalk walk_heap(const std::vector<schema::Event>& events);

class RecordTest : public testing::Test {
 protected:
  std::string tape_path() const { return dir_.file("run.tape"); }

  // The words of a recording of `command` to tape_path(); `options` are those of `record`.
  Words record_words(const Words& command, const Words& options = {}) const;
  Ended record(const Words& command, const Words& options = {}) const;
  Ended record(const CommandLine& line, const Words& options = {}) const;

  // Fails the test when the tape cannot be read to its end.
  Tape read_tape(const std::string& path,
                 schema::Inherited inherited = schema::Inherited::kLeaveOut) const;
  Tape read_tape() const { return read_tape(tape_path()); }
  schema::Manifest manifest() const;
  // The tapes that the manifest lists, the first process's first.
  std::vector<Tape> read_tapes() const;
  // The one tape, among those of the manifest, in which a call asks for `size` bytes.
  Tape tape_that_asks_for(uint64_t size) const;
  // What `heaptape dump`, `heaptape verify` say of the tape.
  std::string dump() const;
  testing::AssertionResult verifies(const std::string& path) const;
  testing::AssertionResult verifies() const { return verifies(tape_path()); }
  // Every tape of the manifest does.
  testing::AssertionResult all_verify() const;

  TempDir dir_;
};

// "as if `words` ran by themselves": runs them with and without the recorder, and compares what
// came out.
#define EXPECT_RECORDING_CHANGES_NOTHING(line) \
  do {                                         \
    const Ended alone = run_command(line);     \
    const Ended recorded = record(line);       \
    EXPECT_FALSE(alone.timed_out);             \
    EXPECT_EQ(recorded.out, alone.out);        \
    EXPECT_EQ(recorded.err, alone.err);        \
    EXPECT_EQ(recorded.status, alone.status);  \
    EXPECT_EQ(recorded.signal, alone.signal);  \
    EXPECT_FALSE(recorded.timed_out);          \
  } while (false)

bool is_root();

}  // namespace heaptape::tests
