// A recording that is stopped and started again: `heaptape ctl stop`, bounds, `heaptape ctl start`.
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <set>

#include "schema/tape/tape_reader.h"
#include "tests/e2e/record_fixture.h"
#include "tests/support/command.h"

namespace heaptape::tests {
namespace {

namespace fs = std::filesystem;

constexpr int kStatusOfIntervals = 7;
constexpr int kStatusOfBusy = 7;
constexpr uint64_t kKept = 10;  // blocks of each thread, until the next phase
constexpr uint64_t kThreads = 4;
// Two phases of so few lie in one segment of a ring, and a thread does not notice a pause between
// them; with so many, it does.
constexpr uint64_t kFewCalls = 60;
constexpr uint64_t kManyCalls = 3000;

class Intervals : public RecordTest {
 protected:
  std::string interval(int number) const {
    return number == 1 ? tape_path()
                       : dir_.file("run.interval-" + std::to_string(number) + ".tape");
  }
  std::string flush_of(int number) const {
    return dir_.file("run.interval-" + std::to_string(number) + ".flush-1.tape");
  }
  static std::string ctl(const std::string& verb) {
    return heaptape_path() + " ctl $PPID " + verb + " >&2";  // of the shell of system(3)
  }
  static Words phases(uint64_t calls, const Words& commands) {
    Words words = {target_path("intervals"), std::to_string(calls)};
    std::ranges::copy(commands, std::back_inserter(words));
    return words;
  }
  // In which phases calls of those numbers were made: the tape has all, and none of another.
  static std::set<uint64_t> phases_on(const Tape& tape, uint64_t first_size, uint64_t calls,
                                      uint64_t most) {
    std::set<uint64_t> found;
    for (uint64_t phase = 0; phase < most; ++phase) {
      const uint64_t made = tape.mallocs_of(first_size + phase);
      if (made != 0) found.insert(phase);
      EXPECT_TRUE(made == 0 || made == calls) << made << " calls of phase " << phase;
    }
    return found;
  }
  // Of the child that lives through all phases, and of those that live in one.
  std::set<uint64_t> phases_of_children(int number, uint64_t calls, uint64_t most) const {
    std::set<uint64_t> found;
    const std::string stem = number == 1 ? "run." : "run.interval-" + std::to_string(number) + ".";
    for (const schema::ManifestProcess& process : manifest().processes) {
      const bool is_other = number == 1 && process.tape.starts_with("run.interval");
      if (!process.tape.starts_with(stem) || is_other ||
          dir_.file(process.tape) == interval(number))
        continue;
      const Tape tape = read_tape(dir_.file(process.tape));
      if (tape.header.executable != target_path("intervals")) continue;
      found.merge(phases_on(tape, 1000, calls, most));
      found.merge(phases_on(tape, 2000, 50, most));
    }
    return found;
  }
  // Those of calls for so many bytes: return addresses, the innermost first.
  std::set<std::vector<uint64_t>> stacks_of(int number, uint64_t size) const {
    std::set<std::vector<uint64_t>> found;
    auto reader = schema::TapeReader::open(interval(number));
    EXPECT_TRUE(reader.ok()) << reader.error().message;
    const auto stacks = reader->read_stacks();
    schema::EventBatch batch;
    do {
      EXPECT_TRUE(reader->read(batch, 1000).ok());
      for (size_t i = 0; i < batch.stacks.size(); ++i) {
        if (batch.events[i].size != size) continue;
        std::vector<uint64_t> addresses;
        for (const schema::Frame* frame = stacks->find(batch.stacks[i]); frame != nullptr;
             frame = stacks->find(frame->caller)) {
          addresses.push_back(frame->return_address);
        }
        found.insert(std::move(addresses));
      }
    } while (!batch.events.empty());
    return found;
  }
  Ended ask(const std::string& verb) const {
    return run_command({heaptape_path(), "ctl", tape_path(), verb});
  }
  void expect_refusal(const std::string& verb, const std::string& sentence) const {
    const Ended refused = ask(verb);
    EXPECT_EQ(refused.status, 2) << verb << refused.describe();
    EXPECT_NE(refused.err.find(sentence), std::string::npos) << verb << ": " << refused.err;
    EXPECT_EQ(std::ranges::count(refused.err, '\n'), 1) << refused.err;
  }
  Words busy() const { return {target_path("busy"), told_}; }
  void tell() const { write_bytes(told_, ""); }
  bool is_begun(int number) const {
    const auto tape = schema::TapeReader::open(interval(number) + ".partial");
    return tape.ok() && tape->events() > 1000;
  }
  bool wait_for(int number) const {
    return wait_until([=, this] { return is_begun(number); });
  }

  const std::string told_ = dir_.file("told");
};

class IntervalsOfCalls : public Intervals, public testing::WithParamInterface<uint64_t> {};
INSTANTIATE_TEST_SUITE_P(FewAndMany, IntervalsOfCalls, testing::Values(kFewCalls, kManyCalls));

TEST_P(IntervalsOfCalls, HaveWhatIsCalledInThem) {
  const uint64_t calls = GetParam();
  const Ended ended =
      record(phases(calls, {ctl("stop"), ctl("start"), "true", ctl("stop"), "true", ctl("start")}));
  EXPECT_EQ(ended.status, kStatusOfIntervals) << ended.describe();
  EXPECT_TRUE(all_verify());
  for (const schema::ManifestProcess& process : manifest().processes) {
    const size_t at = process.tape.find("interval-");
    const uint32_t number = at == std::string::npos ? 1 : std::stoul(process.tape.substr(at + 9));
    EXPECT_EQ(process.interval, number) << process.tape;
  }
  const std::set<uint64_t> expected[] = {{0}, {2, 3}, {6}};
  for (int number = 1; number <= 3; ++number) {
    const Tape tape = read_tape(interval(number));
    EXPECT_EQ(phases_on(tape, 1000, kThreads * calls, 7), expected[number - 1]) << number;
    EXPECT_EQ(phases_of_children(number, calls, 7), expected[number - 1]) << number;
    const HeapWalk heap = walk_heap(tape.events);
    EXPECT_EQ(heap.doubly_given, 0u);
    EXPECT_GE(heap.unknown_frees, number == 1 ? 0 : kThreads * kKept);
    EXPECT_EQ(tape.summary.unknown_frees, heap.unknown_frees);
    EXPECT_EQ(tape.summary.late_ns != 0, number != 1);
    EXPECT_LE(tape.summary.late_ns, tape.summary.duration_ns);
    EXPECT_EQ(tape.summary.losses.lost_events, 0u);
    EXPECT_GE(tape.summary.thread_list.size(), kThreads);
    EXPECT_LE(tape.summary.thread_list.size(), kThreads + 1) << "those that live";
  }
}

// Also with those that were made while nothing was recorded.
TEST_P(IntervalsOfCalls, BeginWithTheSettings) {
  ASSERT_EQ(record(phases(GetParam(), {ctl("stop"), "true", ctl("start")})).status,
            kStatusOfIntervals);
  const std::string text = run_command({heaptape_path(), "dump", interval(2)}).out;
  const size_t earlier = text.find("mallopt(M_TRIM_THRESHOLD, 10002)");
  EXPECT_EQ(text.find("mallopt(M_TRIM_THRESHOLD, 10000)"), std::string::npos);
  EXPECT_EQ(text.find("mallopt(M_TRIM_THRESHOLD, 10001)"), std::string::npos);
  EXPECT_LT(earlier, text.find("mallopt(M_TRIM_THRESHOLD, 10003)"));
  EXPECT_LT(earlier, text.find("malloc("));
}

// Threads do not repeat frames that are on the tape of another interval.
TEST_P(IntervalsOfCalls, HaveWholeStacks) {
  if (std::getenv(kStacksVariable) != nullptr) GTEST_SKIP() << "it says itself how to record";
  for (const char* const mode : {"fp", "dwarf"}) {
    const Ended ended = record(phases(GetParam(), {ctl("stop"), ctl("start")}), {"--stacks", mode});
    ASSERT_EQ(ended.status, kStatusOfIntervals) << ended.describe();
    EXPECT_TRUE(all_verify());
    const auto stacks = stacks_of(1, 1000);
    EXPECT_FALSE(stacks.empty() || stacks.contains({})) << mode;
    EXPECT_EQ(stacks_of(2, 1002), stacks) << mode;
  }
}

// A block goes from one thread's resize straight into another's, also at the moment of a stop.
TEST_F(Intervals, OfThreadsThatExchangeBlocks) {
  const char* const calls = kSanitized ? "200000" : "3000000";
  const CommandLine line{.words = record_words({target_path("thread_exchange"), "8", calls})};
  Command recording(line);
  ASSERT_TRUE(wait_for(1));
  for (int stops = 0; stops < 10 && ask("stop").status == 0; ++stops) {
    if (ask("start").status != 0) break;
  }
  const Ended ended = recording.wait();
  EXPECT_EQ(ended.status, 0) << ended.describe();
  const auto processes = manifest().processes;
  // A recorder with a sanitizer may not answer before the program has ended.
  if (!kSanitized) {
    EXPECT_GT(processes.size(), 1u);
  }
  // Where a thread is preempted for long within a resize, its call may be out of place.
  for (const schema::ManifestProcess& process : processes) {
    const Tape tape = read_tape(dir_.file(process.tape));
    EXPECT_EQ(tape.summary.losses.lost_events, 0u) << process.tape;
    EXPECT_EQ(tape.summary.losses.lost_ranges, 0u) << process.tape;
  }
}

TEST_F(Intervals, SayTheirState) {
  const Ended ended = record(phases(kFewCalls, {ctl("stop") + "; " + ctl("status") + "; " +
                                                ctl("start") + "; " + ctl("status")}));
  EXPECT_EQ(ended.status, kStatusOfIntervals) << ended.describe();
  const size_t stopped = ended.err.find("stopped: ");
  const size_t status = ended.err.find("stopped: ", stopped + 1);
  ASSERT_NE(status, std::string::npos) << ended.err;
  EXPECT_EQ(ended.err.substr(stopped, ended.err.find('\n', stopped) - stopped),
            ended.err.substr(status, ended.err.find('\n', status) - status));
  const size_t started = ended.err.find("recording, interval 2: 0 calls of ");
  EXPECT_NE(started, std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("the tapes of this interval are *.interval-2*.tape\n"),
            std::string::npos);
  EXPECT_NE(ended.err.find("recording, interval 2: ", started + 1), std::string::npos) << ended.err;
}

TEST_F(Intervals, RefuseWhatCannotBe) {
  const CommandLine line{.words = record_words(busy())};
  Command recording(line);
  ASSERT_TRUE(wait_for(1));
  expect_refusal("start", "has begun already");
  ASSERT_EQ(ask("stop").status, 0);
  expect_refusal("stop",
                 "is stopped already: to go on, type `heaptape ctl " + tape_path() + " start`");
  expect_refusal("flush", "is stopped already");
  ASSERT_EQ(ask("start").status, 0);
  expect_refusal("start", "has begun already");
  tell();
  EXPECT_EQ(recording.wait().status, kStatusOfBusy);
  expect_refusal("start", "the recording is over");
}

TEST_F(Intervals, EndWhereTheRecorderLeaves) {
  const CommandLine line{.words = record_words(busy(), {"--detach-on-interrupt"})};
  Command recording(line);
  ASSERT_TRUE(wait_for(1));
  ASSERT_EQ(ask("stop").status, 0);
  ASSERT_EQ(ask("start").status, 0);
  ASSERT_TRUE(wait_for(2));
  recording.send(SIGINT);
  EXPECT_EQ(recording.wait().status, 0);
  EXPECT_TRUE(all_verify());
  expect_refusal("start", "the recording is over");
  tell();
}

// It is that of the program, also where that ends unrecorded.
TEST_F(Intervals, LeaveTheExitStatus) {
  const CommandLine line{.words = record_words(busy())};
  Command recording(line);
  ASSERT_TRUE(wait_for(1));
  ASSERT_EQ(ask("stop").status, 0);
  tell();
  EXPECT_EQ(recording.wait().status, kStatusOfBusy);
}

TEST_F(Intervals, PassSignalsOnBetween) {
  const CommandLine line{.words = record_words(busy())};
  Command recording(line);
  ASSERT_TRUE(wait_for(1));
  ASSERT_EQ(ask("stop").status, 0);
  recording.send(SIGTERM);
  EXPECT_EQ(recording.wait().signal, SIGTERM);
}

TEST_F(Intervals, HaveEachTheirBound) {
  const CommandLine line{.words = record_words(busy(), {"--max-events", "30k"})};
  Command recording(line);
  for (int number = 1; number <= 3; ++number) {
    ASSERT_TRUE(wait_until([&] { return fs::exists(interval(number)); }));
    ASSERT_TRUE(wait_until([&] { return ask("start").status == 0; }));
  }
  tell();
  const Ended ended = recording.wait();
  EXPECT_EQ(ended.status, kStatusOfBusy) << ended.describe();
  EXPECT_NE(ended.err.find("the recording ended after 30,000 calls"), std::string::npos)
      << ended.err;
  for (int number = 1; number <= 3; ++number) {
    EXPECT_TRUE(verifies(interval(number)));
    const Tape tape = read_tape(interval(number));
    EXPECT_EQ(walk_heap(tape.events).doubly_given, 0u);
    EXPECT_GE(tape.events.size(), 30'000u);
    EXPECT_LT(tape.events.size(), 40'000u);
  }
}

TEST_F(Intervals, CountTheirOwnTimeAndBytes) {
  const CommandLine line{.words =
                             record_words(busy(), {"--duration", "300ms", "--max-size", "100MiB"})};
  Command recording(line);
  for (int number = 1; number <= 2; ++number) {
    ASSERT_TRUE(wait_until([&] { return fs::exists(interval(number)); }));
    const schema::TapeSummary summary = read_tape(interval(number)).summary;
    EXPECT_GE(summary.duration_ns - summary.late_ns, 100'000'000u) << number;
    ASSERT_TRUE(wait_until([&] { return ask("start").status == 0; }));
  }
  tell();
  EXPECT_EQ(recording.wait().status, kStatusOfBusy);
}

// Each ends well below the bound, because calls that are not compressed yet count as if they could
// not be. All of them together have more.
TEST_F(Intervals, HaveEachTheirSize) {
  constexpr int kIntervals = 20;
  const CommandLine line{.words = record_words(busy(), {"--max-size", "1MiB"})};
  Command recording(line);
  for (int number = 1; number < kIntervals; ++number) {
    const std::string next = interval(number + 1);
    ASSERT_TRUE(wait_until([&] {
      return (ask("start").status == 0 && fs::exists(interval(number))) || fs::exists(next);
    }));
  }
  tell();
  EXPECT_EQ(recording.wait().status, kStatusOfBusy);
  EXPECT_GE(fs::file_size(interval(kIntervals - 1)), fs::file_size(interval(1)) / 8);
}

TEST_F(Intervals, KeepTheirLastCalls) {
  const CommandLine line{.words = record_words(busy(), {"--keep-last", "1MiB"})};
  Command recording(line);
  ASSERT_TRUE(wait_until([this] { return ask("status").status == 0; }));
  ASSERT_EQ(ask("stop").status, 0);
  ASSERT_EQ(ask("start").status, 0);
  ASSERT_EQ(ask("flush").status, 0);
  EXPECT_TRUE(verifies(flush_of(2)));
  tell();
  const Ended ended = recording.wait();
  EXPECT_EQ(ended.status, kStatusOfBusy) << ended.describe();
  EXPECT_NE(ended.err.find(flush_of(2)), std::string::npos) << ended.err;
  EXPECT_TRUE(all_verify());
  EXPECT_FALSE(read_tape(interval(2)).events.empty());
}

// Under another name, and by itself; an earlier tape is kept.
TEST_F(Intervals, TakeFreeNames) {
  write_bytes(interval(2), "of an earlier recording");
  const CommandLine line{
      .words = {heaptape_path(), "record", "-o", tape_path(), "--", target_path("busy"), told_}};
  Command recording(line);
  ASSERT_TRUE(wait_for(1));
  ASSERT_EQ(ask("stop").status, 0);
  const Ended started = ask("start");
  EXPECT_NE(started.out.find("*.interval-3*.tape"), std::string::npos) << started.describe();
  ASSERT_TRUE(wait_for(3));
  const Ended stopped = run_command({heaptape_path(), "ctl", interval(3), "stop"});
  EXPECT_EQ(stopped.status, 0) << stopped.describe() << "the recording has this name, too";
  tell();
  EXPECT_EQ(recording.wait().status, kStatusOfBusy);
  EXPECT_TRUE(verifies(interval(3)));
  EXPECT_EQ(read_bytes(interval(2)), "of an earlier recording");
}

TEST_F(Intervals, DoNotBeginWithoutATape) {
  const std::string directory = dir_.file("tapes");
  fs::create_directory(directory);
  const CommandLine line{
      .words = {heaptape_path(), "record", "-o", directory + "/run.tape", "--", "bash", "-c",
                heaptape_path() + " ctl $$ stop; mv " + directory + " " + directory + "2; " +
                    heaptape_path() + " ctl $$ start; echo $?; mv " + directory + "2 " + directory +
                    "; " + heaptape_path() + " ctl $$ start; exit 5"}};
  const Ended ended = run_command(line);
  EXPECT_EQ(ended.status, 5) << ended.describe();
  EXPECT_NE(ended.out.find("\n2\n"), std::string::npos) << ended.describe();
  EXPECT_NE(ended.err.find("could not write its tapes: its standard error says why"),
            std::string::npos)
      << ended.err;
  EXPECT_NE(ended.err.find("run.interval-2.tape"), std::string::npos) << ended.err;
  EXPECT_TRUE(verifies(directory + "/run.interval-2.tape"));
}

// What executes another program between two intervals, and what does so within one.
TEST_F(Intervals, FollowPrograms) {
  const std::string ctl = heaptape_path() + " ctl $$ ";
  const std::string second = ctl + "start; x=$(printf %09999d 1); exec bash -c \"" +
                             heaptape_path() + " ctl \\$\\$ stop; exit 5\"";
  const Ended ended = record({"bash", "-c", ctl + "stop; exec bash -c '" + second + "'"});
  EXPECT_EQ(ended.status, 5) << ended.describe();
  EXPECT_TRUE(all_verify());
  std::vector<std::string> ends;
  for (const schema::ManifestProcess& process : manifest().processes) {
    if (process.pid == manifest().processes[0].pid) ends.push_back(process.ended);
  }
  const std::string stopped = "still running when the recording ended";
  EXPECT_EQ(ends, (std::vector<std::string>{stopped, "replaced by exec", stopped}));
}

TEST_F(Intervals, HarmNothingIfTheRecorderIsKilledBetween) {
  const CommandLine line{
      .words = {heaptape_path(), "exec", "-o", tape_path(), "--", target_path("service"), told_}};
  Command service(line);
  ASSERT_TRUE(service.wait_for_output("\n"));
  ASSERT_EQ(ask("stop").status, 0);
  const std::string pid = std::to_string(service.pid());
  const Words words = words_of(read_bytes("/proc/" + pid + "/task/" + pid + "/children"));
  ASSERT_FALSE(words.empty());
  const std::string recorder = "/proc/" + words[0];
  ASSERT_EQ(kill(std::stoi(words[0]), SIGKILL), 0);
  // The parent gets its signal when the last thread has given up its memory.
  ASSERT_TRUE(wait_until([&] {
    std::error_code gone;
    const auto threads = fs::directory_iterator(recorder + "/task", gone);
    return gone || (std::distance(begin(threads), {}) == 1 &&
                    read_bytes(recorder + "/stat").find(") Z ") != std::string::npos);
  }));
  tell();
  EXPECT_EQ(service.wait().status, 3) << "it says that it got a SIGCHLD";
  EXPECT_TRUE(verifies(tape_path()));
}

TEST_F(Intervals, OfAService) {
  const CommandLine line{
      .words = {heaptape_path(), "exec", "-o", tape_path(), "--", target_path("service"), told_}};
  Command service(line);
  ASSERT_TRUE(service.wait_for_output("\n"));
  const std::string pid = std::to_string(service.pid());
  for (const char* const verb : {"stop", "start", "stop", "start"}) {
    const Ended asked = run_command({heaptape_path(), "ctl", pid, verb});
    EXPECT_EQ(asked.status, 0) << asked.describe();
  }
  tell();
  EXPECT_EQ(service.wait().status, 7);
  ASSERT_TRUE(wait_until([this] { return fs::exists(interval(3)); }));
  ASSERT_TRUE(wait_until([this] { return manifest().processes.size() > 2; }));
  EXPECT_TRUE(all_verify());
}

// The recorder waits for the processes that it would record.
TEST_F(Intervals, OfADaemonWhoseCommandHasEnded) {
  const std::string daemon = target_path("busy") + " " + told_;
  const CommandLine line{
      .words = record_words({"bash", "-c", "setsid " + daemon + " >/dev/null 2>&1 & exit 5"},
                            {"--wait", "all"})};
  Command recording(line);
  ASSERT_TRUE(wait_until([this] { return fs::exists(tape_path()); })) << "the shell has ended";
  ASSERT_TRUE(wait_until([this] { return ask("stop").status == 0; }));
  const Ended started = ask("start");
  EXPECT_EQ(started.status, 0) << started.describe();
  ASSERT_TRUE(wait_for(2)) << "the first process of the interval has the name";
  tell();
  EXPECT_EQ(recording.wait().status, 5);
  EXPECT_TRUE(all_verify());
  EXPECT_EQ(read_tape(interval(2)).header.executable, target_path("busy"));
}

TEST_F(Intervals, FollowOneThatNeverBegan) {
  const Ended ended = record(phases(kManyCalls, {ctl("stop"), ctl("start")}), {"--paused"});
  EXPECT_EQ(ended.status, kStatusOfIntervals) << ended.describe();
  EXPECT_TRUE(read_tape(interval(1)).events.empty());
  EXPECT_EQ(phases_on(read_tape(interval(2)), 1000, kThreads * kManyCalls, 3),
            std::set<uint64_t>{2});
}

TEST_F(Intervals, AreShownLive) {
  const Ended ended = record(phases(kManyCalls, {ctl("stop"), ctl("start")}), {"--live"});
  EXPECT_EQ(ended.status, kStatusOfIntervals) << ended.describe();
  EXPECT_EQ(phases_on(read_tape(interval(2)), 1000, kThreads * kManyCalls, 3),
            std::set<uint64_t>{2});
}

}  // namespace
}  // namespace heaptape::tests
