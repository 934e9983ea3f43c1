// Every entry point under every allocator: each call is on the tape once, under its own name, with
// what the program passed and got.
#include <algorithm>
#include <regex>
#include <sstream>

#include "tests/e2e/record_fixture.h"
#include "tests/support/programs.h"

namespace heaptape::tests {
namespace {

// A line of dump without its number.
std::string without_number(const std::string& line) {
  return line.substr(line.find(' ') + 1);
}

// Without what an allocator maps when it is loaded.
std::vector<std::string> calls_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  const std::regex mapping_call(" (mmap|munmap|mprotect|madvise|brk.)\\(");
  for (std::string line; std::getline(in, line);) {
    if (!std::regex_search(line, mapping_call)) lines.push_back(without_number(line));
  }
  return lines;
}

struct Allocator {
  const char* name;
  const char* library;  // in LD_PRELOAD; empty: glibc
  size_t own_calls;     // at its start, or that of libstdc++, which it needs
  bool throws;          // its operator new throws when it fails; Debian's mimalloc aborts

  // ctest puts it into the names of tests.
  friend void PrintTo(const Allocator& allocator, std::ostream* out) { *out << allocator.name; }
};

class EntryPoints : public RecordTest, public testing::WithParamInterface<Allocator> {
 protected:
  void SetUp() override {
    if (kSanitized && *GetParam().library != 0) {
      GTEST_SKIP() << "LD_PRELOAD does not work with a sanitized heaptape";
    }
  }
  Ended record_target(const Words& command) const {
    return record(CommandLine{.words = command,
                              .environment = {std::string("LD_PRELOAD=") + GetParam().library}});
  }
  // The tape ends with what the program printed. Before that there is nothing but what the
  // libraries set aside for themselves at their start.
  void expect_tape_is_what_was_printed(const Ended& ended) const {
    ASSERT_EQ(ended.status, 0) << ended.describe();
    const auto printed = calls_of(ended.out);
    const auto recorded = calls_of(dump());
    ASSERT_GE(recorded.size(), printed.size());
    const size_t before = recorded.size() - printed.size();
    EXPECT_LE(before, GetParam().own_calls);
    for (size_t i = 0; i < printed.size(); ++i) {
      ASSERT_EQ(recorded[before + i], printed[i]) << "call " << before + i + 1;
    }
    EXPECT_TRUE(verifies());
  }
  // The failed calls of each op are one, and there are no others.
  void expect_one_failure_of(const std::vector<schema::Op>& ops) const {
    const Tape tape = read_tape();
    for (const schema::Op op : ops) {
      const auto failed = [op](const schema::Event& e) { return e.op == op && e.address == 0; };
      EXPECT_EQ(std::ranges::count_if(tape.events, failed), 1) << schema::op_info(op).name;
    }
    EXPECT_EQ(tape.summary.failed, ops.size());
  }
};

TEST_P(EntryPoints, OfCAreAllRecorded) {
  expect_tape_is_what_was_printed(record_target({target_path("c_entry_points")}));
}

TEST_P(EntryPoints, OfCxxAreAllRecorded) {
  expect_tape_is_what_was_printed(record_target({target_path("cxx_entry_points")}));
}

// One operator that calls another, or malloc and free, is no call by the allocator itself.
TEST_P(EntryPoints, OfCxxAreNoNestedCalls) {
  ASSERT_EQ(record_target({target_path("cxx_entry_points")}).status, 0);
  EXPECT_EQ(read_tape().summary.nested_calls, 0u);
}

TEST_P(EntryPoints, LeaveErrnoAsTheAllocatorDoes) {
  const CommandLine line{.words = {target_path("errno_kept")},
                         .environment = {std::string("LD_PRELOAD=") + GetParam().library}};
  EXPECT_RECORDING_CHANGES_NOTHING(line);
}

TEST_P(EntryPoints, RecordAnOperatorNewThatThrowsOnce) {
  if (!GetParam().throws) GTEST_SKIP() << GetParam().name << " aborts instead";
  const Ended ended = record_target({target_path("failing_new"), "throw"});
  ASSERT_EQ(ended.out, "caught 4 handled 0\n") << ended.describe();
  expect_one_failure_of({schema::Op::kNew, schema::Op::kNewArray, schema::Op::kNewAligned,
                         schema::Op::kNewArrayAligned});
}

TEST_P(EntryPoints, RecordAnOperatorNewThatReturnsNullOnce) {
  const Ended ended = record_target({target_path("failing_new"), "nothrow"});
  ASSERT_EQ(ended.out, "caught 4 handled 0\n") << ended.describe();
  expect_one_failure_of({schema::Op::kNewNothrow, schema::Op::kNewArrayNothrow,
                         schema::Op::kNewAlignedNothrow, schema::Op::kNewArrayAlignedNothrow});
}

TEST_P(EntryPoints, RecordAnOperatorNewOnceThatAsksItsHandler) {
  if (!GetParam().throws) GTEST_SKIP() << GetParam().name << " aborts instead";
  const Ended ended = record_target({target_path("failing_new"), "handler"});
  ASSERT_EQ(ended.out, "caught 1 handled 2\n") << ended.describe();
  expect_one_failure_of({schema::Op::kNew});
}

INSTANTIATE_TEST_SUITE_P(, EntryPoints,
                         testing::Values(Allocator{"glibc", "", 1, true},
                                         Allocator{"jemalloc", "libjemalloc.so.2", 1, true},
                                         Allocator{"mimalloc", tests::mimalloc_library(), 1, false},
                                         Allocator{"tcmalloc", "libtcmalloc_minimal.so.4", 3,
                                                   true}));

class EntryPointsOfGlibc : public RecordTest {};

// The address of a block that did not move stays; one that moved is another. Both must have come
// up, or the oracle would prove less than it says.
TEST_F(EntryPointsOfGlibc, ResizeInPlaceAndMove) {
  ASSERT_EQ(record({target_path("c_entry_points")}).status, 0);
  const Tape tape = read_tape();
  const auto resizes = [&tape](bool moved) {
    return std::ranges::count_if(tape.events, [moved](const schema::Event& e) {
      return e.op == schema::Op::kRealloc && e.address != 0 && e.freed_address != 0 &&
             (e.address != e.freed_address) == moved;
    });
  };
  EXPECT_GT(resizes(false), 0);
  EXPECT_GT(resizes(true), 0);
}

TEST_F(EntryPointsOfGlibc, AreExactlyWhatThePlainProgramCalled) {
  const Ended ended = record({target_path("c_entry_points")});
  ASSERT_EQ(ended.status, 0) << ended.describe();
  EXPECT_EQ(dump(), ended.out);
}

TEST_F(EntryPointsOfGlibc, RecordTheWholeCallOnceWhenAHandlerMadeRoom) {
  const Ended ended = record({target_path("failing_new"), "retry"});
  ASSERT_EQ(ended.out, "caught 0 handled 1\n") << ended.describe();
  const Tape tape = read_tape();
  EXPECT_EQ(tape.count(schema::Op::kNew), 1u);
  EXPECT_EQ(tape.summary.failed, 0u);
}

// In the order in which they end, each under its own name.
TEST_F(EntryPointsOfGlibc, RecordWhatAHandlerOfOperatorNewAllocatesItself) {
  const Ended ended = record({target_path("failing_new"), "nested"});
  ASSERT_EQ(ended.out, "caught 1 handled 2\n") << ended.describe();
  std::vector<std::pair<schema::Op, uint64_t>> found;
  for (const schema::Event& event : read_tape().events) {
    const bool is_own = event.size % 2 == 1 || event.size == uint64_t{1} << 30;
    if (is_own && event.size > 300) found.emplace_back(event.op, event.size);
  }
  using enum schema::Op;
  const std::vector<std::pair<schema::Op, uint64_t>> expected = {
      {kNew, 301},    {kNewArray, 303},           {kNewAligned, 305}, {kNewNothrow, 307},
      {kMalloc, 309}, {kNewNothrow, PTRDIFF_MAX}, {kNew, 1 << 30},    {kNew, 311}};
  EXPECT_EQ(found, expected);
  EXPECT_EQ(read_tape().summary.losses.lost_events, 0u);
  EXPECT_EQ(walk_heap(read_tape().events).unknown_frees, 0u);
  EXPECT_TRUE(verifies());
}

TEST_F(EntryPointsOfGlibc, LoseAnOperatorNewThatItsHandlerLeavesByAJump) {
  const Ended ended = record({target_path("failing_new"), "jump"});
  ASSERT_EQ(ended.out, "caught 0 handled 10\n") << ended.describe();
  const Tape tape = read_tape();
  EXPECT_EQ(tape.count(schema::Op::kNew), 1u);
  EXPECT_EQ(tape.summary.losses.causes.left_hooks, 10u);
}

// See loader_plugin.cc.
TEST_F(EntryPointsOfGlibc, OfCxxNeverWaitForTheLoader) {
  for (const char* host : {"loader_host", "loader_host_cxx"}) {
    const Ended ended = record(CommandLine{
        .words = {target_path(host), target_path("loader_plugin.so")}, .time_limit_seconds = 10});
    EXPECT_EQ(ended.out, "loaded\n") << ended.describe();
    const Tape tape = read_tape();
    EXPECT_EQ(tape.count(schema::Op::kNew), 1u) << host;
    EXPECT_EQ(tape.count(schema::Op::kDelete), 1u) << host;
  }
}

}  // namespace
}  // namespace heaptape::tests
