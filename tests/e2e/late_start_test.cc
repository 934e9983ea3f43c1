// Recordings that begin later than their program: --paused, --start-after, `heaptape ctl start`.
#include <algorithm>
#include <iterator>

#include "tests/e2e/record_fixture.h"
#include "tests/support/command.h"
#include "tests/support/recordings.h"

namespace heaptape::tests {
namespace {

constexpr int kStatusOfLate = 7;

class LateStart : public RecordTest {
 protected:
  static std::string ctl(const std::string& verb) {
    return heaptape_path() + " ctl $PPID " + verb + " >&2";  // of the shell of system(3)
  }
  static Words late(const Words& commands) {
    Words words = {target_path("late")};
    std::ranges::copy(commands, std::back_inserter(words));
    return words;
  }
  // The tape with all of the process's calls from the start on, and none of before.
  void expect_since_start(const Tape& tape, uint64_t threads) const {
    EXPECT_EQ(tape.mallocs_of(777), 0u);
    EXPECT_EQ(tape.mallocs_of(778), threads * 500);
    EXPECT_EQ(tape.summary.unknown_frees, threads * 1000);
    EXPECT_EQ(tape.summary.losses.lost_events, 0u);
    EXPECT_GT(tape.summary.late_ns, 0u);
    EXPECT_LE(tape.summary.late_ns, tape.summary.duration_ns);
  }
};

TEST_F(LateStart, RecordsAllCallsSinceItWasAskedFor) {
  const Ended ended = record(late({ctl("start")}), {"--paused"});
  EXPECT_EQ(ended.status, kStatusOfLate) << ended.describe();
  EXPECT_NE(ended.err.find("recording: "), std::string::npos) << ended.err;
  EXPECT_TRUE(all_verify());
  const Tape tape = read_tape();
  expect_since_start(tape, 4);
  EXPECT_EQ(tape.mallocs_of(779), 400u);
  EXPECT_NE(dump().find("mallopt(M_TRIM_THRESHOLD, 12345)"), std::string::npos) << "it lasts";
  const std::vector<Tape> tapes = read_tapes();
  const auto child = std::ranges::find_if(tapes, [](const Tape& other) {
    return other.header.executable == target_path("late") && other.mallocs_of(779) == 0;
  });
  ASSERT_NE(child, tapes.end());
  EXPECT_EQ(child->mallocs_of(778), 500u);
  EXPECT_EQ(child->summary.unknown_frees, 1000u);
}

TEST_F(LateStart, RecordsOneInterval) {
  const Ended ended = record(late({ctl("start"), ctl("stop")}), {"--paused"});
  EXPECT_EQ(ended.status, kStatusOfLate) << ended.describe();
  const Tape tape = read_tape();
  expect_since_start(tape, 4);
  EXPECT_EQ(tape.mallocs_of(779), 0u);
}

TEST_F(LateStart, BeginsByItselfAfterATime) {
  const Ended ended = record(late({"sleep 0.4"}), {"--start-after", "200ms"});
  EXPECT_EQ(ended.status, kStatusOfLate) << ended.describe();
  const Tape tape = read_tape();
  expect_since_start(tape, 4);
  EXPECT_GE(tape.summary.late_ns, 20'000'000u);
}

// Its threads make 4,000 calls at first, and report every 64.
TEST_F(LateStart, BeginsAfterSoManyCalls) {
  const Ended ended = record(late({"sleep 0.2"}), {"--start-after", "3000"});
  EXPECT_EQ(ended.status, kStatusOfLate) << ended.describe();
  const Tape tape = read_tape();
  EXPECT_LE(tape.mallocs_of(777), 1000u);
  EXPECT_EQ(tape.mallocs_of(777) + tape.summary.unknown_frees, 4000u);
  EXPECT_EQ(tape.mallocs_of(778), 2000u);
  const Ended never = record(late({"sleep 0.2"}), {"--start-after", "1M"});
  EXPECT_EQ(never.status, kStatusOfLate) << never.describe();
  EXPECT_TRUE(read_tape().events.empty());
  const Ended refused = record(late({"true"}), {"--start-after", "soon"});
  EXPECT_EQ(refused.status, 2) << refused.describe();
  EXPECT_NE(refused.err.find("'soon' is neither a time"), std::string::npos) << refused.err;
}

// Fewer than 3,000 are made.
TEST_F(LateStart, CountsAResizeOnce) {
  const Ended ended = record({target_path("resizes")}, {"--start-after", "3000"});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  EXPECT_TRUE(read_tape().events.empty());
}

TEST_F(LateStart, ReplaysAndSaysWhatIsMissing) {
  ASSERT_EQ(record(late({ctl("start")}), {"--paused"}).status, kStatusOfLate);
  const Ended info = run_command({heaptape_path(), "info", tape_path()});
  EXPECT_NE(info.out.find(" after the process: earlier calls are not on the tape"),
            std::string::npos)
      << info.out;
  const Ended json = run_command({heaptape_path(), "info", tape_path(), "--json"});
  const std::string late = "\"lateNs\": " + std::to_string(read_tape().summary.late_ns);
  EXPECT_NE(json.out.find(late), std::string::npos) << late << json.out;
  const Ended replay =
      run_command({heaptape_path(), "replay", tape_path(), "-a", "recorded", "-a", "glibc"});
  EXPECT_EQ(replay.status, 0) << replay.describe();
  for (const char* const note :
       {": memory from before is unseen until a call hands it out; 4,000 frees of such blocks",
        ": blocks from before are missing here; 4,000 frees of such blocks omitted"}) {
    EXPECT_NE(replay.out.find(note), std::string::npos) << replay.describe();
  }
  EXPECT_NE(info.out.find(", and 4,000 calls free or resize blocks from before\n"),
            std::string::npos)
      << info.out;
  const Ended stats = run_command({heaptape_path(), "stats", tape_path()});
  EXPECT_NE(stats.out.find("frees of earlier blocks                 4,000"), std::string::npos)
      << stats.out;
  const Ended verify = run_command({heaptape_path(), "verify", tape_path()});
  EXPECT_EQ(verify.status, 0) << verify.describe();
  EXPECT_NE(verify.out.find("; 4,000 calls free or resize blocks from before\n"), std::string::npos)
      << verify.out;
}

// Recordings of a program that says how much of its heap from before it did not get again. It runs
// on until it has been sampled, also on a busy machine.
class LateHeap : public LateStart {
 protected:
  void record_heap(const std::string& then = "; sleep 0.6") {
    const Ended ended = record(Words{target_path("late_heap"), ctl("start") + then}, {"--paused"});
    EXPECT_EQ(ended.status, 0) << ended.describe();
    unseen_ = std::strtoull(ended.out.c_str(), nullptr, 10);
  }
  std::string said(const std::string& command, const Words& options = {}) const {
    Words words = {heaptape_path(), command, tape_path(), "-a", "recorded", "--at", "end"};
    std::ranges::copy(options, std::back_inserter(words));
    return run_command(words).out;
  }

  uint64_t unseen_ = 0;
};

constexpr uint64_t kHoles = 100;
constexpr uint64_t kHoleBytes = 5008;  // a chunk of glibc's for 5,000 bytes
constexpr uint64_t kOpenBytes = 7008;  // the one beside the blocks from before
constexpr uint64_t kSlack = 2 * 4096;

// Of the main heap, and of an arena in which no recorded call was made.
TEST_F(LateHeap, HasTheMemoryThatWasThereBefore) {
  record_heap();
  const std::string json = said("explain", {"--json"});
  EXPECT_GT(unseen_, 7'000'000u);
  EXPECT_NEAR(static_cast<double>(json_number(json, "unseenBytes")), static_cast<double>(unseen_),
              kSlack);
  EXPECT_EQ(json_number(json, "unexplainedBytes"), 0u);
}

TEST_F(LateHeap, HasTheHolesBetweenItsOwnBlocks) {
  record_heap();
  const std::string json = said("explain", {"--json"});
  EXPECT_EQ(json_number(json, "holeBytes"), kHoles * kHoleBytes + kOpenBytes);
  EXPECT_EQ(json_number(json, "openHoles"), 1u);
  EXPECT_EQ(json_number(json, "openHoleBytes"), kOpenBytes);
}

TEST_F(LateHeap, NamesNoPinOfAHoleBesideUnseenMemory) {
  record_heap();
  const std::string text = said("holes");
  EXPECT_NE(text.find(": 7,008 bytes (6.84 KiB), all resident; last free in it: #304, of 7,000 "
                      "bytes\n    before it: unseen memory, from before the recording\n    after "
                      "it: 6,000 bytes at "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("it may be larger, and its pin is not known"), std::string::npos) << text;
  EXPECT_NE(text.find("without the "), std::string::npos) << "others have one\n" << text;
}

TEST_F(LateHeap, CountsFreesAndResizesOfEarlierBlocks) {
  record_heap();
  EXPECT_EQ(read_tape().summary.unknown_frees, 1001u);
  const Ended replay = run_command({heaptape_path(), "replay", tape_path(), "-a", "recorded"});
  EXPECT_NE(replay.out.find("; 1,000 frees of such blocks; 1 resize of such blocks counted as "
                            "allocations\n"),
            std::string::npos)
      << replay.out;
}

// Memory that the heap takes before the first sample counts until it is handed out: a top at most.
TEST_F(LateHeap, IsSampledAtOnce) {
  record_heap("");
  const uint64_t unseen = json_number(said("explain", {"--json"}), "unseenBytes");
  EXPECT_GE(unseen + kSlack, unseen_);
  EXPECT_LE(unseen, unseen_ + (160 << 10) + kSlack);
}

// To which all that the first interval has is from before.
TEST_F(LateHeap, IsThatOfASecondInterval) {
  const Ended ended =
      record(Words{target_path("late_heap"), ctl("stop") + " && " + ctl("start") + "; sleep 0.2"});
  ASSERT_EQ(ended.status, 0) << ended.describe();
  const uint64_t unseen = std::strtoull(ended.out.c_str(), nullptr, 10);
  const std::string json =
      run_command({heaptape_path(), "explain", dir_.file("run.interval-2.tape"), "-a", "recorded",
                   "--at", "end", "--json"})
          .out;
  EXPECT_NEAR(static_cast<double>(json_number(json, "unseenBytes")), static_cast<double>(unseen),
              kSlack);
  EXPECT_EQ(json_number(json, "holeBytes"), kHoles * kHoleBytes + kOpenBytes);
}

TEST_F(LateStart, CountsItsDurationFromTheStart) {
  const Ended ended = record(late({"sleep 0.3; " + ctl("start"), "sleep 0.3"}),
                             {"--paused", "--duration", "100ms"});
  EXPECT_EQ(ended.status, kStatusOfLate) << ended.describe();
  const Tape tape = read_tape();
  EXPECT_EQ(tape.mallocs_of(777), 0u);
  EXPECT_GT(tape.mallocs_of(778), 0u);
  EXPECT_EQ(tape.mallocs_of(779), 0u);
}

TEST_F(LateStart, SaysThatItHasBegun) {
  const std::string status = ctl("status");
  const Ended ended =
      record(late({status + "; " + ctl("start") + "; " + status + "; " + ctl("start") + "; :"}),
             {"--paused"});
  EXPECT_EQ(ended.status, kStatusOfLate) << ended.describe();
  EXPECT_NE(ended.err.find("waits for its start; not recorded: "), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("has begun already"), std::string::npos) << ended.err;
}

TEST_F(LateStart, SaysThatItNeverBegan) {
  const Ended ended = record(late({"sleep 0.2"}), {"--paused"});
  EXPECT_EQ(ended.status, kStatusOfLate) << ended.describe();
  EXPECT_NE(ended.err.find("before its start: its tapes have no calls"), std::string::npos)
      << ended.err;
  EXPECT_TRUE(read_tape().events.empty());
  EXPECT_FALSE(read_tape().summary.largest_sample) << "what is malloc's is not known";
  EXPECT_TRUE(verifies());
}

}  // namespace
}  // namespace heaptape::tests
