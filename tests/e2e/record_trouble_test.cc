// A kernel in trouble while a program is recorded. Either nothing runs, or the program runs as it
// always does and the recording is whole, or is what the recorder says of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "schema/tape/tape_reader.h"
#include "tests/support/faults.h"
#include "tests/support/programs.h"
#include "tests/support/temp_dir.h"

namespace heaptape::tests {
namespace {

constexpr size_t kMostFaultsOfARecording = 24;
constexpr int kStatus = 3;
constexpr const char* kSaid = "said\n";

struct RecordedScript {
  const char* name;
  std::vector<std::string> options;
  std::string script;
};

const RecordedScript kScripts[] = {
    {"one_process", {"--stacks", "dwarf"}, "echo said; exit 3"},
    {"two_processes", {"--stacks", "fp"}, "(exit 7); echo said; exit 3"},
    {"last_calls_on_disk", {"--keep-last", "1h,disk"}, "echo said; exit 3"},
};

class RecordingsInTrouble : public testing::TestWithParam<RecordedScript> {
 protected:
  RecordingsInTrouble() {
    const Traced plain = record_with({});
    may_trace_ = plain.is_allowed;
    if (!may_trace_) return;
    expect_undisturbed(plain.ended);
    calls_ = plain.calls;
    events_ = events();
  }

  Traced record_with(const std::vector<std::string>& faults) {
    std::filesystem::remove_all(place_);
    std::filesystem::create_directory(place_);
    std::vector<std::string> words = {"record", "-o", "run.tape"};
    words.insert(words.end(), GetParam().options.begin(), GetParam().options.end());
    words.insert(words.end(), {"--", "/bin/sh", "-c", GetParam().script});
    return run_in_trouble(place_, words, faults);
  }

  static void expect_undisturbed(const Ended& ended) {
    EXPECT_EQ(ended.out, kSaid);
    EXPECT_EQ(ended.status, kStatus);
  }
  // The events that are on all tapes, which must be sound as far as they go.
  uint64_t events() const {
    uint64_t sum = 0;
    for (const auto& entry : std::filesystem::directory_iterator(place_)) {
      const bool is_partial = entry.path().extension() == ".partial";
      if (entry.path().extension() == ".json" || (is_partial && is_empty(entry))) continue;
      const auto tape =
          schema::TapeReader::open(entry.path(), is_partial ? schema::TapeReader::OnDamage::kSkip
                                                            : schema::TapeReader::OnDamage::kStop);
      EXPECT_TRUE(tape.ok()) << tape.error().message;
      if (tape.ok()) sum += tape->own_events();
    }
    return sum;
  }
  void expect_honest_recording(const Traced& traced, const Fault& fault) const;
  bool is_of_the_recorder(const Fault& fault) const {
    const std::string& file = fault.call.file;
    // A recorder without memory gives up, and the program goes on alone.
    if (fault.call.program == "heaptape" && file == "anonymous") return false;
    return fault.call.program.starts_with("heaptape") ||
           file.find("heaptape") != std::string::npos || file == "socket" || file == "anonymous" ||
           fault.call.name == "socket" || file.starts_with("/proc/");
  }

  TempDir dir_;
  std::string place_ = dir_.file("place");
  std::vector<SystemCall> calls_;
  uint64_t events_ = 0;
  bool may_trace_ = true;
};

void RecordingsInTrouble::expect_honest_recording(const Traced& traced, const Fault& fault) const {
  const Ended& ended = traced.ended;
  EXPECT_EQ(ended.signal, 0);
  EXPECT_FALSE(ended.timed_out);
  const auto lines = lines_of(ended.err);
  EXPECT_LE(lines.size(), 2u);
  for (const std::string& line : lines) EXPECT_TRUE(line.starts_with("heaptape: "));
  if (ended.out.empty()) {  // refused
    EXPECT_EQ(ended.status, 2);
    EXPECT_EQ(lines.size(), 1u);
    EXPECT_TRUE(std::filesystem::is_empty(place_));
    EXPECT_EQ(fault.call.program, "heaptape");
    return;
  }
  expect_undisturbed(ended);
  const uint64_t got = events();
  EXPECT_LE(got, events_);
  if (lines.empty() && fault.call.program == "heaptape") {
    EXPECT_EQ(got, events_);
  }
  const bool is_whole = std::filesystem::exists(place_ + "/run.tape") && got == events_;
  if (!is_whole && fault.call.is_in_directory()) {
    const bool has_reason = ended.err.find(fault.reason) != std::string::npos ||
                            ended.err.find("disk is full") != std::string::npos;
    EXPECT_TRUE(has_reason);
  }
}

TEST_P(RecordingsInTrouble, AreTheSameWhenCallsAreInterruptedOrShort) {
  if (!may_trace_) GTEST_SKIP() << "may not trace";
  for (const char* kind : {"interrupt", "short"}) {
    SCOPED_TRACE(kind);
    const Traced traced = record_with({kind});
    EXPECT_NE(traced.failed_calls, 0u);
    expect_undisturbed(traced.ended);
    EXPECT_EQ(traced.ended.err, "");
    EXPECT_EQ(events(), events_);
  }
}

TEST_P(RecordingsInTrouble, AreRefusedOrWholeOrSayWhatIsMissing) {
  if (!may_trace_) GTEST_SKIP() << "may not trace";
  std::vector<Fault> faults = faults_of(calls_, kMostFaultsOfARecording);
  std::ranges::move(full_disks(calls_), std::back_inserter(faults));
  uint64_t failed_calls = 0;
  for (const Fault& fault : faults) {
    if (!is_of_the_recorder(fault)) continue;
    const Traced traced = record_with({fault.text()});
    SCOPED_TRACE(fault.text() + ": " + traced.ended.describe());
    failed_calls += traced.failed_calls;
    if (traced.failed_calls != 0) expect_honest_recording(traced, fault);
  }
  EXPECT_NE(failed_calls, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, RecordingsInTrouble, testing::ValuesIn(kScripts),
                         [](const auto& info) { return std::string(info.param.name); });

// The file of the last calls.
class LastCallsInTrouble : public testing::Test {
 protected:
  Traced record(const std::string& keep, const std::vector<std::string>& command,
                const std::vector<std::string>& faults) const {
    std::vector<std::string> words = {"record", "-o", "run.tape", "--keep-last", keep, "--"};
    words.insert(words.end(), command.begin(), command.end());
    return run_in_trouble(dir_.path(), words, faults);
  }
  schema::TapeReader open() const {
    auto tape = schema::TapeReader::open(dir_.file("run.tape"));
    EXPECT_TRUE(tape.ok()) << tape.error().message;
    return std::move(*tape);
  }

  TempDir dir_;
};

// A network file system has no files that never had a name.
TEST_F(LastCallsInTrouble, MayHaveAFileThatHadAName) {
  const Traced traced =
      record("1MiB,disk", {"/bin/sh", "-c", "readlink /proc/$PPID/fd/*; ls -A | grep ^.heaptape"},
             {"EIO 1 1 heaptape open ~/."});
  if (!traced.is_allowed) GTEST_SKIP() << "may not trace";
  EXPECT_EQ(traced.failed_calls, 1u);
  EXPECT_NE(traced.ended.out.find("/.heaptape-"), std::string::npos) << traced.ended.describe();
  EXPECT_EQ(traced.ended.status, 1) << "but has no more";
  EXPECT_GT(open().events(), 0u);
}

TEST_F(LastCallsInTrouble, RefuseADirectoryThatTakesNoFile) {
  const Traced traced =
      record("1MiB,disk", {"/bin/sh", "-c", "echo said"}, {"EROFS 2 3 heaptape open ~"});
  if (!traced.is_allowed) GTEST_SKIP() << "may not trace";
  EXPECT_EQ(traced.ended.status, 2) << traced.ended.describe();
  EXPECT_EQ(traced.ended.out, "");
  EXPECT_NE(traced.ended.err.find("cannot create a file for the last calls in '.'"),
            std::string::npos)
      << traced.ended.err;
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path()));
}

// Fewer are kept, all of them are accounted for, and the recorder says why.
TEST_F(LastCallsInTrouble, AreFewerOnAFullDisk) {
  constexpr uint64_t kCalls = 4'000'000;
  const Traced traced = record("8MiB,disk", {target_path("burst"), std::to_string(kCalls / 2)},
                               {"ENOSPC 5 - heaptape pwrite ~"});
  if (!traced.is_allowed) GTEST_SKIP() << "may not trace";
  EXPECT_EQ(traced.ended.status, 0) << traced.ended.describe();
  EXPECT_GT(traced.failed_calls, 0u);
  EXPECT_NE(traced.ended.err.find("No space left on device; fewer calls were kept"),
            std::string::npos)
      << traced.ended.err;
  const schema::TapeReader tape = open();
  EXPECT_EQ(tape.summary()->losses.lost_events, 0u);
  EXPECT_GT(tape.dropped_calls(), kCalls / 2);
  EXPECT_GE(tape.dropped_calls() + tape.events() - tape.inherited_blocks(), kCalls);
}

// What was kept cannot be read back: there is no tape, and a sentence.
TEST_F(LastCallsInTrouble, AreLostWithTheirDisk) {
  const Traced traced =
      record("8MiB,disk", {target_path("burst"), "200000"}, {"EIO 3 - heaptape pread ~"});
  if (!traced.is_allowed) GTEST_SKIP() << "may not trace";
  EXPECT_EQ(traced.ended.status, 0) << traced.ended.describe();
  EXPECT_GT(traced.failed_calls, 0u);
  EXPECT_NE(traced.ended.err.find("cannot read the last calls back"), std::string::npos)
      << traced.ended.err;
  EXPECT_FALSE(std::filesystem::exists(dir_.file("run.tape")));
}

}  // namespace
}  // namespace heaptape::tests
