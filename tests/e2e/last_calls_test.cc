// The flight recorder: --keep-last, and when what it keeps is written.
#include <signal.h>

#include <algorithm>
#include <filesystem>

#include "schema/tape/tape_reader.h"
#include "tests/e2e/memory_group.h"
#include "tests/e2e/record_fixture.h"
#include "tests/support/command.h"

namespace heaptape::tests {
namespace {

namespace fs = std::filesystem;

class LastCalls : public RecordTest {
 protected:
  std::string copy(int number = 1) const {
    return dir_.file("run.flush-" + std::to_string(number) + ".tape");
  }
  schema::TapeReader open(const std::string& path) const {
    auto reader = schema::TapeReader::open(path);
    EXPECT_TRUE(reader.ok()) << reader.error().message;
    return std::move(*reader);
  }
  // So many processes, for two seconds.
  // They end of themselves, one by one, or are killed at the same time.
  enum class End { kTold, kKilled };
  void record_busy(int processes, const std::string& keep, End end = End::kTold) const {
    const std::string told = dir_.file("told");
    std::string script;
    for (int i = 0; i < processes; ++i) script += target_path("busy") + " " + told + " & ";
    script += "sleep 2; " + (end == End::kTold ? "touch " + told : "kill -9 $(jobs -p)");
    script += "; wait; exit 5";
    const Ended ended = record({"bash", "-c", script}, {"--keep-last", keep});
    EXPECT_EQ(ended.status, 5) << ended.describe();
  }
  std::string largest_tape() const {
    const auto processes = manifest().processes;
    return dir_.file(
        std::ranges::max_element(processes, {}, &schema::ManifestProcess::events)->tape);
  }
  // A shell that makes calls until it is told something, and then runs `script`.
  static Words shell(const std::string& script) { return {"bash", "-c", script + "; exit 5"}; }
  static std::string ctl(const std::string& words) { return heaptape_path() + " ctl $$ " + words; }
  void expect_refusal(const Words& options, const std::string& sentence) const {
    const Ended ended = record({"bash", "-c", "echo ran"}, options);
    EXPECT_EQ(ended.status, 2) << ended.describe();
    EXPECT_NE(ended.err.find(sentence), std::string::npos) << ended.err;
    EXPECT_EQ(ended.out, "");
    EXPECT_FALSE(fs::exists(tape_path()));
  }
};

TEST_F(LastCalls, StayWithinTheirBytes) {
  record_busy(1, "1MiB");
  const std::string path = largest_tape();
  EXPECT_LE(fs::file_size(path), 1u << 20);
  EXPECT_GE(fs::file_size(path), 1u << 19) << "the shell needs little";
  const schema::TapeReader tape = open(path);
  EXPECT_GT(tape.dropped_calls(), 100'000u);
  EXPECT_GT(tape.events(), 100'000u);
  const HeapWalk heap = walk_heap(read_tape(path).events);
  EXPECT_EQ(heap.doubly_given, 0u);
  EXPECT_EQ(heap.unknown_frees, 0u);
  EXPECT_GT(heap.live, 900u) << "of 1,024 slots";
  const Ended info = run_command({heaptape_path(), "info", path});
  EXPECT_NE(info.out.find(" earlier calls were dropped; the tape begins with "), std::string::npos)
      << info.out;
}

// The heap at the end is that of a whole recording, whatever was dropped.
TEST_F(LastCalls, EndWithTheSameHeap) {
  const auto live_at_end = [this](const Words& options) {
    EXPECT_EQ(record({target_path("inheritance"), "bulk"}, options).status, 0);
    EXPECT_TRUE(verifies());
    return walk_heap(read_tape().events);
  };
  const HeapWalk whole = live_at_end({});
  const HeapWalk last = live_at_end({"--keep-last", "1ms", "--force"});
  EXPECT_GT(open(tape_path()).dropped_calls(), 0u);
  EXPECT_EQ(last.live, whole.live);
  EXPECT_EQ(last.unknown_frees, 0u);
}

TEST_F(LastCalls, AreWrittenOnRequest) {
  const std::string script = "x=$(printf %09999d 1); " + ctl("flush") + "; " + ctl("flush") +
                             "; ls " + dir_.file("run.flush-2.tape");
  const Ended ended = record(shell(script), {"--keep-last", "1MiB"});
  EXPECT_EQ(ended.status, 5) << ended.describe();
  EXPECT_NE(ended.out.find("; the last calls are in *.flush-1.tape\n"), std::string::npos);
  EXPECT_NE(ended.out.find("\n" + copy(2) + "\n"), std::string::npos) << "when ctl returns";
  EXPECT_TRUE(verifies(copy(1)));
  EXPECT_TRUE(verifies(copy(2)));
  EXPECT_TRUE(all_verify());
  EXPECT_EQ(open(copy(1)).summary()->end_reason, schema::EndReason::kRecordingStopped);
  EXPECT_LT(open(copy(1)).events(), open(tape_path()).events());
}

// The recorder is the shell's parent. The signal would end the shell.
TEST_F(LastCalls, AreWrittenOnASignal) {
  const std::string script =
      "x=$(printf %09999d 1); kill -USR1 $PPID; for i in {1..400}; do [ -e " + copy() +
      " ] && break; sleep 0.05; done";
  const Ended ended = record(shell(script), {"--keep-last", "1MiB", "--flush-on", "USR1"});
  EXPECT_EQ(ended.status, 5) << ended.describe();
  EXPECT_TRUE(verifies(copy()));
  EXPECT_FALSE(fs::exists(copy(2)));
}

TEST_F(LastCalls, AreWrittenWhenMemoryIsShort) {
  const std::string script = "x=$(printf %060000000d 1); for i in {1..400}; do [ -e " + copy() +
                             " ] && break; sleep 0.05; done; kill -9 $$";
  const Ended ended = record(shell(script), {"--keep-last", "1MiB", "--flush-at", "40MiB"});
  EXPECT_EQ(ended.signal, SIGKILL) << ended.describe();
  EXPECT_TRUE(verifies(copy()));
  EXPECT_GT(open(copy()).events(), 0u);
  EXPECT_EQ(open(tape_path()).summary()->end_reason, schema::EndReason::kSignalled);
}

TEST_F(LastCalls, AreWrittenBeforeAMemoryLimitKills) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes more memory than the limit";
  const MemoryGroup group(300 << 20);
  if (!group.missing().empty()) GTEST_SKIP() << group.missing();
  const std::string script = "for i in {1..64}; do x=$x$(printf %010000000d 1); done";
  CommandLine line{.words =
                       record_words(shell(script), {"--keep-last", "1MiB", "--flush-at", "50%"})};
  line.before_exec = [&group] { group.enter(); };
  const Ended ended = run_command(line);
  EXPECT_EQ(ended.signal, SIGKILL) << ended.describe();
  EXPECT_TRUE(verifies(copy()));
  EXPECT_GT(open(copy()).events(), 0u);
}

TEST_F(LastCalls, ShareTheirBytesAmongProcesses) {
  record_busy(3, "4MiB", End::kKilled);
  EXPECT_TRUE(all_verify());
  size_t busy = 0;
  for (const schema::ManifestProcess& process : manifest().processes) {
    if (process.events < 100'000) continue;
    ++busy;
    EXPECT_LE(process.bytes, 2u << 20) << "four share them, or two at the end";
  }
  EXPECT_EQ(busy, 3u);
}

// They keep what they have: it is less than an equal share.
TEST_F(LastCalls, OfSmallProcessesStay) {
  const std::string script =
      "for i in {1..100}; do (x=$(printf %0999d 1); read -rt 30 -u 9) & done; "
      "sleep 1; ";
  const std::string bell = dir_.file("bell");
  const Ended ended =
      record({"bash", "-c",
              "mkfifo " + bell + "; exec 9<>" + bell + "; " + script + ctl("flush") + "; " +
                  ctl("flush") + "; kill $(jobs -p); wait; exit 5"},
             {"--keep-last", "1MiB"});
  EXPECT_EQ(ended.status, 5) << ended.describe();
  EXPECT_TRUE(all_verify());
  const auto processes = manifest().processes;
  EXPECT_GT(processes.size(), 200u);
  for (const schema::ManifestProcess& process : processes) {
    if (process.tape == "run.tape") continue;
    EXPECT_EQ(open(dir_.file(process.tape)).dropped_calls(), 0u) << process.tape;
  }
}

TEST_F(LastCalls, OfCopiesAreStillTheLastOnes) {
  record_busy(1, "1MiB");
  const std::string path = largest_tape();
  const schema::TapeReader tape = open(path);
  for (const char* const command : {"pack", "recover", "scrub"}) {
    const std::string made = dir_.file("copy.tape");
    const Ended ended = run_command({heaptape_path(), command, path, "-o", made});
    ASSERT_EQ(ended.status, 0) << ended.describe();
    EXPECT_TRUE(verifies(made));
    const schema::TapeReader copied = open(made);
    EXPECT_EQ(copied.events(), tape.events()) << command;
    EXPECT_EQ(copied.dropped_calls(), tape.dropped_calls()) << command;
    EXPECT_EQ(copied.inherited_blocks(), tape.inherited_blocks()) << command;
  }
}

// Requests that are for others use up no numbers.
TEST_F(LastCalls, AreNumberedWithoutGaps) {
  const std::string other = heaptape_path() + " ctl 1 flush; ";
  const Ended ended = record(shell("x=$(printf %09999d 1); " + other + other + ctl("flush")),
                             {"--keep-last", "1MiB"});
  EXPECT_EQ(ended.status, 5) << ended.describe();
  EXPECT_TRUE(fs::exists(copy(1)));
  EXPECT_FALSE(fs::exists(copy(2)));
}

// One copy at a time.
TEST_F(LastCalls, AreNotWrittenForEachSignalOfAFlood) {
  const std::string script =
      "x=$(printf %09999d 1); for i in {1..5000}; do kill -USR1 $PPID; done; for i in {1..400}; do "
      "[ -e " +
      copy() + " ] && break; sleep 0.05; done";
  const Ended ended = record(shell(script), {"--keep-last", "1MiB", "--flush-on", "USR1"});
  EXPECT_EQ(ended.status, 5) << ended.describe();
  EXPECT_TRUE(verifies(copy()));
  EXPECT_FALSE(fs::exists(copy(1000)));
}

TEST_F(LastCalls, OfAServiceAreWrittenOnRequest) {
  const std::string script = "x=$(printf %09999d 1); " + ctl("flush");
  Words words = record_words(shell(script), {"--keep-last", "1MiB"});
  words[1] = "exec";
  const Ended ended = run_command(words);
  EXPECT_EQ(ended.status, 5) << ended.describe();
  EXPECT_TRUE(verifies(copy()));
  EXPECT_TRUE(wait_until([this] { return fs::exists(tape_path() + ".manifest.json"); }));
}

// An earlier one of that name stays.
TEST_F(LastCalls, OverwriteNothing) {
  write_bytes(copy(1), "precious");
  const Ended ended = record(shell(ctl("flush")), {"--keep-last", "1MiB"});
  EXPECT_EQ(ended.status, 5) << ended.describe();
  EXPECT_EQ(read_bytes(copy(1)), "precious");
  EXPECT_TRUE(verifies(copy(2)));
}

TEST_F(LastCalls, SayIfTheyCannotBeWritten) {
  const std::string folder = dir_.file("folder");
  fs::create_directory(folder);
  const std::string script = "mv " + folder + " " + folder + "2; " + ctl("flush") + "; mv " +
                             folder + "2 " + folder + "; " + ctl("flush");
  Words words = record_words(shell(script), {"--keep-last", "1MiB"});
  for (std::string& word : words) {
    if (word == tape_path()) word = folder + "/run.tape";
  }
  const Ended ended = run_command(words);
  EXPECT_NE(ended.err.find("could not write its tapes"), std::string::npos) << ended.describe();
  EXPECT_NE(ended.err.find("run.flush-1.tape'"), std::string::npos) << "and why: " << ended.err;
  EXPECT_TRUE(verifies(folder + "/run.tape"));
  EXPECT_TRUE(verifies(folder + "/run.flush-2.tape")) << "the next one works";
}

// The signal would end the program, of which nothing is recorded any more.
TEST_F(LastCalls, ArePastWhenTheRecordingHasEnded) {
  const Ended ended = record(shell("x=$(printf %09999d 1); " + ctl("stop") +
                                   "; sleep 0.2; kill -USR1 "
                                   "$PPID; sleep 0.2"),
                             {"--keep-last", "1MiB", "--flush-on", "USR1"});
  EXPECT_EQ(ended.status, 5) << ended.describe();
  EXPECT_FALSE(fs::exists(copy()));
}

// Beside the tape, where only the recorder sees them.
TEST_F(LastCalls, MayBeOnDisk) {
  record_busy(3, "4MiB,disk");
  EXPECT_TRUE(all_verify());
  EXPECT_GT(open(largest_tape()).dropped_calls(), 100'000u);
  size_t busy = 0;
  uint64_t bytes = 0;
  for (const schema::ManifestProcess& process : manifest().processes) {
    bytes += process.bytes;
    if (process.events >= 100'000) ++busy;
  }
  EXPECT_EQ(busy, 3u);
  EXPECT_GT(bytes, 2u << 20);
  const HeapWalk heap = walk_heap(read_tape(largest_tape()).events);
  EXPECT_EQ(heap.doubly_given, 0u);
  EXPECT_EQ(heap.unknown_frees, 0u);
}

TEST_F(LastCalls, OnDiskEndWithTheSameHeap) {
  const auto live_at_end = [this](const Words& options) {
    EXPECT_EQ(record({target_path("inheritance"), "bulk"}, options).status, 0);
    EXPECT_TRUE(verifies());
    return walk_heap(read_tape().events).live;
  };
  const uint64_t whole = live_at_end({});
  EXPECT_EQ(live_at_end({"--keep-last", "1ms,disk", "--force"}), whole);
  EXPECT_GT(open(tape_path()).dropped_calls(), 0u);
}

TEST_F(LastCalls, OnDiskHaveAFileWithoutAName) {
  const std::string look = "x=$(printf %09999d 1); ls -A " + dir_.file("") +
                           " | grep -v '^run'; readlink /proc/$PPID/fd/* | grep " + dir_.file("#") +
                           "; " + ctl("flush");
  const Ended ended = record(shell(look), {"--keep-last", "1MiB,disk"});
  EXPECT_EQ(ended.status, 5) << ended.describe();
  EXPECT_TRUE(ended.out.starts_with(dir_.file("#"))) << ended.out;
  EXPECT_TRUE(verifies(copy()));
  EXPECT_TRUE(all_verify());
}

// Standard signals do not queue, and one flush serves all that came before it.
TEST_F(LastCalls, AreWrittenOnceForSignalsThatCameTogether) {
  const std::string script =
      "x=$(printf %09999d 1); kill -STOP $PPID; for i in {1..300}; do "
      "kill -USR1 $PPID; done; kill -CONT $PPID; for i in {1..400}; do [ -e " +
      copy() + " ] && break; sleep 0.05; done; sleep 0.5";
  const Ended ended = record(shell(script), {"--keep-last", "1MiB", "--flush-on", "USR1"});
  EXPECT_EQ(ended.status, 5) << ended.describe();
  EXPECT_TRUE(verifies(copy()));
  EXPECT_FALSE(fs::exists(copy(2)));
}

TEST_F(LastCalls, RefuseWhatMakesNoSense) {
  expect_refusal({"--keep-last", "0"}, "less than a chunk of a tape needs: give at least 1MiB");
  expect_refusal({"--keep-last", "4096"}, "give at least 1MiB");
  expect_refusal({"--keep-last", "1MiB,tape"}, "'tape' is no place for the last calls: type disk");
  expect_refusal({"--keep-last", "soon,disk"}, "'soon' is neither a time");
  expect_refusal({"--keep-last", "soon"}, "neither a time, such as 90s or 10m, nor a size");
  expect_refusal({"--keep-last", "1MiB", "--max-size", "1MiB"}, "give either --keep-last");
  expect_refusal({"--flush-at", "1GiB"}, "need --keep-last: add it");
  expect_refusal({"--flush-on", "USR1"}, "need --keep-last: add it");
  expect_refusal({"--keep-last", "1MiB", "--flush-at", "0%"}, "neither a percentage");
  expect_refusal({"--keep-last", "1MiB", "--flush-at", "100%"}, "neither a percentage");
  expect_refusal({"--keep-last", "1MiB", "--flush-at", "0"}, "type a percentage, such as 90%");
  expect_refusal({"--keep-last", "1MiB", "--flush-at", "90"}, "type a percentage, such as 90%");
  expect_refusal({"--keep-last", "1MiB", "--flush-on", "KILL"}, "HUP");
}

}  // namespace
}  // namespace heaptape::tests
