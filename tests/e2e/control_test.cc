// Recordings that end before their program, or after it: bounds, `heaptape ctl`, signals, --wait.
#include <signal.h>

#include <filesystem>

#include "schema/tape/tape_reader.h"
#include "tests/e2e/record_fixture.h"
#include "tests/support/command.h"

namespace heaptape::tests {
namespace {

constexpr char kStopped[] = "still running when the recording ended";
constexpr int kStatusOfBusy = 7;

class RecordControl : public RecordTest {
 protected:
  // A program that runs until there is a tape of it.
  Words busy() const { return {target_path("busy"), tape_path()}; }
  // One that runs on after its recording, until it is told to end.
  Words busy_and_on() const { return {target_path("busy"), told_, made_}; }
  // Tells it. Returns whether it was still there.
  bool still_runs() const {
    const bool early = std::filesystem::exists(made_);
    write_bytes(told_, "");
    return !early && wait_until([this] { return std::filesystem::exists(made_); });
  }
  // Expects that the program ended as if it had not been recorded, and a whole tape of its
  // beginning.
  Tape beginning(const Ended& ended) const {
    EXPECT_EQ(ended.status, kStatusOfBusy) << ended.describe();
    EXPECT_EQ(manifest().processes.at(0).ended, kStopped);
    EXPECT_TRUE(verifies());
    Tape tape = read_tape();
    const HeapWalk heap = walk_heap(tape.events);
    EXPECT_EQ(heap.doubly_given, 0u);
    EXPECT_EQ(heap.unknown_frees, 0u);
    EXPECT_LT(tape.count(schema::Op::kMalloc), std::stoull(ended.out));
    return tape;
  }
  // A shell that goes on when `script` is over.
  Ended shell(const std::string& script, const Words& options = {}) const {
    return record({"bash", "-c", script + "; exit 5"}, options);
  }
  static std::string ctl(const std::string& words) { return heaptape_path() + " ctl $$ " + words; }
  bool is_written() const { return std::filesystem::exists(tape_path()); }
  bool is_begun() const {
    const auto tape = schema::TapeReader::open(tape_path() + ".partial");
    return tape.ok() && tape->events() > 1000;
  }

  const std::string told_ = dir_.file("told");
  const std::string made_ = dir_.file("made");
};

TEST_F(RecordControl, EndsAfterItsDuration) {
  const Ended ended = record(busy(), {"--duration", "300ms"});
  const Tape tape = beginning(ended);
  EXPECT_GE(tape.summary.duration_ns, 50'000'000u);  // the program may begin late
  EXPECT_NE(ended.err.find("note: the recording ended after 300.0 ms; still running: busy "),
            std::string::npos)
      << ended.err;
  EXPECT_EQ(ended.err.find("--wait"), std::string::npos) << ended.err;
}

TEST_F(RecordControl, EndsAfterSoManyCalls) {
  constexpr uint64_t kWanted = 30'000;
  constexpr uint64_t kSlice = 8192;  // is worked off in one go
  const Tape tape = beginning(record(busy(), {"--max-events", "30k"}));
  EXPECT_GE(tape.events.size(), kWanted);
  EXPECT_LT(tape.events.size(), kWanted + kSlice);
}

TEST_F(RecordControl, EndsBeforeItsTapesAreTooLarge) {
  beginning(record(busy(), {"--max-size", "1MiB"}));
  EXPECT_LE(std::filesystem::file_size(tape_path()), 1u << 20);
  EXPECT_GE(std::filesystem::file_size(tape_path()), 40u << 10);
}

// All together, also those that end meanwhile.
TEST_F(RecordControl, BoundsManyProcesses) {
  const std::string script = "for i in {1..400}; do ls / >" + dir_.file("out") + "; done; exit 5";
  const auto bytes_and_calls = [this] {
    uint64_t bytes = 0;
    uint64_t calls = 0;
    for (const schema::ManifestProcess& process : manifest().processes) {
      bytes += process.bytes;
      calls += process.events;
    }
    return std::pair(bytes, calls);
  };
  EXPECT_EQ(record({"bash", "-c", script}, {"--max-size", "1MiB"}).status, 5);
  EXPECT_LE(bytes_and_calls().first, 1u << 20);
  EXPECT_GE(bytes_and_calls().first, 200u << 10);
  EXPECT_TRUE(all_verify());
  EXPECT_EQ(record({"bash", "-c", script}, {"--max-events", "20k"}).status, 5);
  EXPECT_GE(bytes_and_calls().second, 20'000u);
  EXPECT_LT(bytes_and_calls().second, 40'000u);
}

// What is in the backlog when the program ends is not more than the bound allows.
TEST_F(RecordControl, BoundsAProgramThatHasEnded) {
  const Words burst = {target_path("burst"), "100000"};
  const Words all = record_words(burst);
  ASSERT_EQ(run(all).status, 0);
  const uint64_t whole = read_tape().events.size();
  for (const uint64_t bound : {whole / 2, whole - 1, whole, whole + 1}) {
    const Ended ended = record(burst, {"--max-events", std::to_string(bound)});
    EXPECT_EQ(ended.status, 0) << ended.describe();
    const uint64_t events = read_tape().events.size();
    EXPECT_GE(events, std::min(bound, whole));
    EXPECT_LT(events, bound + 8192);
  }
}

TEST_F(RecordControl, SaysThatItEndedBeforeTheFirstCall) {
  const Ended ended = record({"bash", "-c", "exit 5"}, {"--duration", "1ms"});
  EXPECT_EQ(ended.status, 5) << ended.describe();
  if (!std::filesystem::exists(tape_path())) {
    EXPECT_NE(ended.err.find("had not called malloc when the recording ended after 1.00 ms"),
              std::string::npos)
        << ended.err;
  }
}

TEST_F(RecordControl, EndsOnRequest) {
  const std::string script = "x=$(printf %09999d 1); " + ctl("stop") + "; y=$(printf %09999d 1)";
  const Ended ended = shell(script);
  EXPECT_EQ(ended.status, 5) << ended.describe();
  EXPECT_NE(ended.out.find("stopped: "), std::string::npos) << ended.out;
  EXPECT_NE(ended.err.find("because `heaptape ctl` stopped it"), std::string::npos) << ended.err;
  EXPECT_EQ(manifest().processes.at(0).ended, kStopped);
  EXPECT_TRUE(all_verify());
  // The shell forks once before, and then is recorded no longer.
  EXPECT_EQ(manifest().processes.size(), 3u) << "itself, printf's shell and that of ctl";
}

// The tapes are complete when ctl returns.
TEST_F(RecordControl, EndsOnRequestOfAnotherTerminal) {
  const CommandLine line{.words = record_words(busy_and_on())};
  Command recording(line);
  ASSERT_TRUE(wait_until([this] { return is_begun(); }));
  const std::string list = tape_path() + ".manifest.json";
  for (const std::string& name : {tape_path(), list, tape_path() + ".partial"}) {
    const Ended status = run_command({heaptape_path(), "ctl", name, "status"});
    EXPECT_EQ(status.status, 0) << status.describe();
    EXPECT_NE(status.out.find(" of 1 process in "), std::string::npos) << status.out;
  }
  const Ended stopped = run_command({heaptape_path(), "ctl", list, "stop"});
  EXPECT_EQ(stopped.status, 0) << stopped.describe();
  EXPECT_TRUE(is_written());
  EXPECT_TRUE(std::filesystem::exists(list));
  EXPECT_TRUE(verifies());
  const Ended again = run_command({heaptape_path(), "ctl", list, "stop"});
  EXPECT_EQ(again.status, 2) << again.describe();
  EXPECT_NE(again.err.find("is stopped already"), std::string::npos) << again.err;
  recording.send(SIGTERM);  // the program gets it, though it is not recorded any more
  EXPECT_EQ(recording.wait().signal, SIGTERM);
}

TEST_F(RecordControl, PutsAllCallsIntoTheFileIfAsked) {
  const std::string copy = dir_.file("copy.tape");
  const std::string script = "x=$(printf %09999d 1); " + ctl("mark here") + "; " + ctl("flush") +
                             "; cp " + tape_path() + ".partial " + copy;
  const Ended ended = shell(script);
  EXPECT_EQ(ended.status, 5) << ended.describe();
  EXPECT_NE(ended.out.find("flushed: "), std::string::npos) << ended.out;
  const Ended explained = run({"heaptape", "dump", copy});
  EXPECT_NE(explained.out.find(" mark here at "), std::string::npos) << explained.describe();
}

// It is one recording: its first tape is finished.
TEST_F(RecordControl, IsKnownByItsFirstTapeToTheEnd) {
  const std::string ctl = heaptape_path() + " ctl " + tape_path() + " status";
  const Ended ended = record({"bash", "-c", "exec bash -c '" + ctl + "; exit 5'"});
  EXPECT_EQ(ended.status, 5) << ended.describe();
  EXPECT_NE(ended.out.find("recording: "), std::string::npos) << ended.describe();
}

TEST_F(RecordControl, KeepsItsNameFromTheStart) {
  const CommandLine line{.words = record_words({"sleep", "60"})};  // calls malloc late, or never
  Command recording(line);
  ASSERT_TRUE(wait_until([this] { return std::filesystem::exists(tape_path() + ".partial"); }));
  const Ended second = run(record_words({"ls"}));
  EXPECT_EQ(second.status, 2) << second.describe();
  EXPECT_NE(second.err.find("another heaptape is writing it"), std::string::npos) << second.err;
}

// One that calls malloc all the time has never written everything.
TEST_F(RecordControl, FlushesABusyProgram) {
  const CommandLine line{.words = record_words(busy_and_on())};
  Command recording(line);
  ASSERT_TRUE(wait_until([this] { return std::filesystem::exists(tape_path() + ".partial"); }));
  Ended flushed;
  ASSERT_TRUE(wait_until([&] {
    flushed = run_command({heaptape_path(), "ctl", tape_path(), "flush"});
    return flushed.status == 0;
  })) << flushed.describe();
  EXPECT_EQ(run_command({heaptape_path(), "ctl", tape_path(), "stop"}).status, 0);
  recording.send(SIGKILL);
}

TEST_F(RecordControl, GivesTheMemoryOfRingsBack) {
  const std::string shared = "grep RssShmem /proc/$$/status; ";
  const Ended ended = shell("for i in {1..20000}; do x=$i$x; x=${x:0:50}; done; " + shared +
                            ctl("stop") + "; " + shared + ":");
  ASSERT_EQ(ended.status, 5) << ended.describe();
  const size_t first = ended.out.find("RssShmem:");
  const size_t second = ended.out.find("RssShmem:", first + 1);
  ASSERT_NE(second, std::string::npos) << ended.out;
  const auto kilobytes = [&](size_t at) { return std::stoul(ended.out.substr(at + 9)); };
  EXPECT_GT(kilobytes(first), kilobytes(second) + 200);
}

TEST_F(RecordControl, NamesWhatIsStillRunning) {
  const Ended ended = shell(
      "sleep 20 >/dev/null 2>&1 & while [ $(</proc/$!/comm) != sleep ]; do sleep 0.02; done; "
      "sleep 0.2");
  EXPECT_EQ(ended.status, 5) << ended.describe();
  EXPECT_NE(ended.err.find("note: the recording ended with its program; still running: sleep "),
            std::string::npos)
      << ended.err;
  EXPECT_NE(ended.err.find("--wait all"), std::string::npos) << ended.err;
}

TEST_F(RecordControl, WaitsForDaemonsIfAsked) {
  const Ended ended =
      shell("(setsid bash -c 'sleep 0.5; x=$(printf %0777d 1)' &)", {"--wait", "all"});
  EXPECT_EQ(ended.status, 5) << ended.describe();
  EXPECT_EQ(ended.err, "");
  for (const schema::ManifestProcess& process : manifest().processes) {
    EXPECT_NE(process.ended, kStopped) << process.executable;
  }
  EXPECT_TRUE(all_verify());
}

// A service that makes daemons would fill the table of processes with them.
TEST_F(RecordControl, LeavesNoZombiesOfWhatRunsOn) {
  const std::string zombies =
      "grep -hcE \"^[0-9]+ \\(.*\\) Z $PPID \" /proc/[0-9]*/stat 2>/dev/null | grep -vc 0";
  const Ended ended =
      shell("sleep 0.4; for i in {1..5}; do (sleep 0.01 &); done; sleep 0.4; " + zombies,
            {"--wait", "all", "--duration", "200ms"});
  EXPECT_EQ(ended.status, 5) << ended.describe();
  EXPECT_EQ(ended.out, "0\n");
}

TEST_F(RecordControl, StopsWaitingAtASignal) {
  const CommandLine line{.words = record_words({"bash", "-c", "setsid sleep 20 & echo $$; exit 5"},
                                               {"--wait", "all"})};
  Command recording(line);
  ASSERT_TRUE(recording.wait_for_output("\n"));
  const int command = std::stoi(recording.output());
  ASSERT_TRUE(wait_until([=] { return kill(command, 0) != 0; })) << "a signal would reach it";
  ASSERT_TRUE(wait_until([&] {
    recording.send(SIGINT);
    return is_written();
  }));
  const Ended ended = recording.wait();
  EXPECT_EQ(ended.status, 5) << ended.describe();
  EXPECT_NE(ended.err.find("the recording ended at a signal"), std::string::npos) << ended.err;
}

TEST_F(RecordControl, DetachesAtAnInterrupt) {
  const CommandLine line{.words = record_words(busy_and_on(), {"--detach-on-interrupt"})};
  Command recording(line);
  ASSERT_TRUE(wait_until([this] { return is_begun(); }));
  recording.send(SIGINT);
  const Ended ended = recording.wait();
  EXPECT_EQ(ended.status, 0) << ended.describe();
  EXPECT_TRUE(verifies());
  EXPECT_EQ(manifest().processes.at(0).ended, kStopped);
  EXPECT_TRUE(still_runs());
}

TEST_F(RecordControl, DetachesAtAnInterruptAfterItsEnd) {
  const CommandLine line{
      .words = record_words(busy_and_on(), {"--detach-on-interrupt", "--duration", "50ms"})};
  Command recording(line);
  ASSERT_TRUE(wait_until([this] { return is_written(); }));
  recording.send(SIGINT);
  const Ended ended = recording.wait();
  EXPECT_EQ(ended.status, 0) << ended.describe();
  EXPECT_TRUE(still_runs());
}

TEST_F(RecordControl, KeepsEarlierTapes) {
  const Words again = {"heaptape", "record", "-o", tape_path(), "--", "ls"};
  ASSERT_EQ(run(again).status, 0);
  const std::string first = read_bytes(tape_path());
  const Ended refused = run(again);
  EXPECT_EQ(refused.status, 2) << refused.describe();
  EXPECT_NE(refused.err.find("run.tape' exists: give another name with -o, or --force"),
            std::string::npos)
      << refused.err;
  EXPECT_EQ(read_bytes(tape_path()), first);
  std::filesystem::remove(tape_path());
  EXPECT_EQ(run(again).status, 2) << "its manifest names tapes of its children";
  Words forced = again;
  forced.insert(forced.begin() + 2, "--force");
  EXPECT_EQ(run(forced).status, 0);
  EXPECT_TRUE(verifies());
}

TEST_F(RecordControl, FindsAFreeNameByItself) {
  for (const char* const name : {"ls.tape", "ls.2.tape", "ls.3.tape"}) {
    const Ended ended = run({.words = {"heaptape", "record", "ls"}, .folder = dir_.path()});
    EXPECT_EQ(ended.status, 0) << ended.describe();
    EXPECT_TRUE(std::filesystem::exists(dir_.file(name))) << name;
  }
  write_bytes(dir_.file("ls.4.tape.partial"), "of a recorder that was killed");
  EXPECT_EQ(run({.words = {"heaptape", "record", "ls"}, .folder = dir_.path()}).status, 0);
  EXPECT_TRUE(std::filesystem::exists(dir_.file("ls.5.tape")));
}

TEST_F(RecordControl, NamesTapesByAPattern) {
  const Words words = {"heaptape", "record", "-o", dir_.file("%n.%p.tape"), "--", "ls"};
  ASSERT_EQ(run(words).status, 0);
  ASSERT_EQ(run(words).status, 0);
  size_t tapes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
    const std::string name = entry.path().filename();
    tapes += name.starts_with("ls.") && name.ends_with(".tape") ? 1 : 0;
  }
  EXPECT_EQ(tapes, 2u);
}

TEST_F(RecordControl, RefusesWhatCannotBe) {
  struct Case {
    Words words;
    const char* sentence;
  };
  const Words sleep = {"--", "sleep", "0"};
  for (const Case& one :
       {Case{{"record", "--max-size", "1000"}, "--max-size must be at least 1.00 MiB"},
        Case{{"record", "--max-events", "0"}, "--max-events"},
        Case{{"record", "--duration", "0s"}, "'0s' is not a time"},
        Case{{"record", "--duration", "5"}, "'5' is not a time"},
        Case{{"record", "--wait", "some"}, "--wait"},
        Case{{"record", "-o", "%x.tape"}, "'%x.tape' has a % that stands for nothing"},
        Case{{"record", "-o", "/tmp"}, "'/tmp'"}}) {
    Words words = {"heaptape"};
    words.insert(words.end(), one.words.begin(), one.words.end());
    words.insert(words.end(), sleep.begin(), sleep.end());
    const Ended ended = run({.words = words, .folder = dir_.path()});
    EXPECT_EQ(ended.status, 2) << ended.describe();
    EXPECT_NE(ended.err.find(one.sentence), std::string::npos) << ended.err;
  }
  for (const Case& one :
       {Case{{"1", "stop"}, "none of your recorders is recording process 1"},
        Case{{"1", "stop", "now"}, "omit 'now': stop takes nothing behind it"},
        Case{{"1", "mark"}, "a mark has a name"},
        Case{{"a.tape", "mark", "b"}, "'a.tape' is no pid: a mark is for one process"},
        Case{{"a.tape", "stop"}, "nobody is recording to 'a.tape'"},
        Case{{"0", "stop"}, "'0' is no pid"}, Case{{"99999999999", "stop"}, "is no pid"},
        Case{{"1", "pause"}, "ctl has no action 'pause'"}}) {
    Words words = {"heaptape", "ctl"};
    words.insert(words.end(), one.words.begin(), one.words.end());
    const Ended ended = run(words);
    EXPECT_EQ(ended.status, 2) << ended.describe();
    EXPECT_NE(ended.err.find(one.sentence), std::string::npos) << ended.err;
  }
}

}  // namespace
}  // namespace heaptape::tests
