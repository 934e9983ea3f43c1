// Sudden ends: of the program, which loses nothing that it did, and of the recorder, which the
// program survives.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <stdexcept>

#include "recorder/ring/session_layout.h"
#include "schema/tape/tape_reader.h"
#include "tests/e2e/record_fixture.h"
#include "tests/e2e/targets/endless.h"
#include "tests/support/tapes.h"

namespace heaptape::tests {
namespace {

class RecordKills : public RecordTest {
 protected:
  RecordKills() {
    const int fd = open(dir_.file("shared").c_str(), O_CREAT | O_RDWR, 0600);
    EXPECT_EQ(ftruncate(fd, sizeof(Endless)), 0);
    shared_ = static_cast<Endless*>(
        mmap(nullptr, sizeof(Endless), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    close(fd);
  }
  ~RecordKills() override {
    shared_->stop = 1;
    munmap(shared_, sizeof(Endless));
  }

  Words endless(int threads, const Words& options = {}) const {
    return record_words({target_path("endless"), dir_.file("shared"), std::to_string(threads)},
                        options);
  }
  // The same, with a tape that is never far behind the program.
  Words endless_and_prompt() const { return endless(1, {"--backlog", "1MiB"}); }
  uint64_t calls() const {
    uint64_t sum = 0;
    for (const uint64_t calls : shared_->calls) sum += calls;
    return sum;
  }
  // Another number of calls each time, also when a test is repeated in one process.
  static uint64_t some_calls() {
    static Random random(test_seed());
    return 1 + random.below(500'000);
  }
  bool wait_for_calls(uint64_t count) const {
    return wait_until([=, this] { return calls() >= count; });
  }
  // The recorder makes the file, and then its header, while the program runs already.
  bool wait_for_tape(uint64_t events = 0) const {
    return wait_until([=, this] {
      const auto tape = schema::TapeReader::open(tape_path() + ".partial");
      return tape.ok() && tape->events() >= events;
    });
  }
  // The process id of the program: a child of the recorder's.
  static int child_of(int pid) {
    const std::string path =
        "/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children";
    const int child = std::atoi(read_bytes(path).c_str());
    // A signal to 0 would go to all of our own group.
    if (child == 0) throw std::runtime_error("the recorder has no child");
    return child;
  }
  // All threads, which the signal reaches one by one.
  static void stop_wholly(const Command& recorder) {
    recorder.send(SIGSTOP);
    int status = 0;
    EXPECT_EQ(waitpid(recorder.pid(), &status, WUNTRACED), recorder.pid());
    EXPECT_TRUE(WIFSTOPPED(status));
  }
  // Of the program's own blocks.
  static uint64_t own_calls(const Tape& tape) { return tape.mallocs_of(101) + tape.frees_of(101); }

  Endless* shared_;
};

class RecordKillsOfThreads : public RecordKills, public testing::WithParamInterface<int> {};

TEST_P(RecordKillsOfThreads, LoseNoCallOfTheProgram) {
  Command recorder({.words = endless(GetParam())});
  ASSERT_TRUE(wait_for_calls(some_calls()));
  ASSERT_EQ(kill(child_of(recorder.pid()), SIGKILL), 0);
  const Ended ended = recorder.wait();
  EXPECT_EQ(ended.signal, SIGKILL) << ended.describe();
  const Tape tape = read_tape();
  EXPECT_TRUE(tape.finished);
  EXPECT_EQ(tape.summary.end_reason, schema::EndReason::kSignalled);
  EXPECT_EQ(tape.summary.end_status, SIGKILL);
  // Of each thread, one call may have been made and not counted yet.
  EXPECT_GE(own_calls(tape), calls());
  EXPECT_LE(own_calls(tape), calls() + static_cast<uint64_t>(GetParam()));
}

// The same, of a tape that has the last calls only.
TEST_P(RecordKillsOfThreads, LoseNoneOfTheLastCalls) {
  const auto record_until = [this](uint64_t calls, const Words& options) {
    Command recorder({.words = endless(GetParam(), options)});
    EXPECT_TRUE(wait_for_calls(calls));
    EXPECT_EQ(kill(child_of(recorder.pid()), SIGKILL), 0);
    EXPECT_EQ(recorder.wait().signal, SIGKILL);
  };
  record_until(10'000, {});
  const Tape whole = read_tape();
  const uint64_t others = whole.events.size() - own_calls(whole);
  *shared_ = {};
  constexpr uint64_t kMany = 1'500'000;
  record_until(kMany + some_calls(), {"--keep-last", "1ms"});
  EXPECT_TRUE(verifies());
  const auto reader = schema::TapeReader::open(tape_path());
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  EXPECT_GT(reader->dropped_calls(), 100'000u);
  const Tape tape = read_tape();
  EXPECT_EQ(tape.summary.end_reason, schema::EndReason::kSignalled);
  const uint64_t kept = tape.events.size() - reader->inherited_blocks();
  const uint64_t own = reader->dropped_calls() + kept - others;
  EXPECT_GE(own, calls());
  EXPECT_LE(own, calls() + static_cast<uint64_t>(GetParam()));
}

// The program dies of a limit of its own address space, in which the recording has its part.
TEST_F(RecordKills, ByALimitOfTheAddressSpaceLoseNoneOfTheLastCalls) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer needs more address space than that";
  const auto record_with = [this](const std::string& mib, const Words& options) {
    *shared_ = {};
    const Ended ended = record({target_path("starving"), dir_.file("shared"), mib}, options);
    EXPECT_EQ(ended.signal, SIGSEGV) << ended.describe();
    EXPECT_TRUE(verifies());
  };
  record_with("8", {});
  const uint64_t others = read_tape().events.size() - calls();
  for (const char* const keep : {"1MiB", "1MiB,disk"}) {
    record_with("200", {"--keep-last", keep, "--force"});
    const auto reader = schema::TapeReader::open(tape_path());
    ASSERT_TRUE(reader.ok()) << reader.error().message;
    EXPECT_EQ(reader->summary()->end_reason, schema::EndReason::kSignalled);
    EXPECT_GT(reader->dropped_calls(), 100'000u);
    const uint64_t kept = reader->events() - reader->inherited_blocks();
    EXPECT_GT(kept, 10'000u);
    EXPECT_EQ(reader->dropped_calls() + kept, others + calls());
  }
}

TEST_P(RecordKillsOfThreads, OfTheRecorderLeaveTheProgramUnharmed) {
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);  // so that the program becomes our child
  Command recorder({.words = endless(GetParam())});
  ASSERT_TRUE(wait_for_calls(some_calls()));
  const int program = child_of(recorder.pid());
  recorder.send(SIGKILL);
  recorder.wait();
  EXPECT_TRUE(wait_for_calls(calls() + 300'000));
  shared_->stop = 1;
  int status = 0;
  EXPECT_EQ(waitpid(program, &status, 0), program);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  EXPECT_EQ(recorder.output(), "ended\n");
}

INSTANTIATE_TEST_SUITE_P(, RecordKillsOfThreads, testing::Values(1, 3));

TEST_F(RecordKills, OfTheRecorderLeaveATapeThatCanBeRecovered) {
  Command recorder({.words = endless(1)});
  ASSERT_TRUE(wait_for_tape(500'000));
  recorder.send(SIGKILL);
  EXPECT_EQ(recorder.wait().signal, SIGKILL);
  shared_->stop = 1;
  const Ended recovered = run_command(
      {heaptape_path(), "recover", tape_path() + ".partial", "-o", dir_.file("recovered.tape")});
  EXPECT_EQ(recovered.status, 0) << recovered.describe();
  const Tape tape = read_tape(dir_.file("recovered.tape"));
  EXPECT_GE(tape.events.size(), 500'000u);
  EXPECT_EQ(tape.summary.end_reason, schema::EndReason::kRecovered);
}

class RecordKillsAtSomeTime : public RecordKills, public testing::WithParamInterface<int> {};

// The promise is 100 ms. The clock of the test allows for a machine that has other work.
TEST_P(RecordKillsAtSomeTime, OfTheRecorderLoseNothingOlderThanTheLastSave) {
  Command recorder({.words = endless_and_prompt()});
  ASSERT_TRUE(wait_for_calls(1000 + static_cast<uint64_t>(GetParam()) * 100'000));
  const uint64_t calls_then = calls();
  usleep(400'000 + static_cast<useconds_t>(GetParam()) * 7'000);
  recorder.send(SIGKILL);
  recorder.wait();
  shared_->stop = 1;
  const Tape tape = read_tape(tape_path() + ".partial");
  EXPECT_FALSE(tape.finished);
  EXPECT_GE(own_calls(tape), calls_then);
}

INSTANTIATE_TEST_SUITE_P(, RecordKillsAtSomeTime, testing::Range(0, 5));

// The shell ends before its first calls are saved, unless the machine is busy.
TEST_F(RecordKills, AtTheBeginningLeaveWordOfIt) {
  const std::string partial = tape_path() + ".partial";
  for (int tries = 0; tries < 50; ++tries) {
    std::filesystem::remove(partial);
    const Ended recorded = record({"/bin/sh", "-c", "kill -9 $PPID"});
    EXPECT_EQ(recorded.signal, SIGKILL);
    if (std::filesystem::file_size(partial) == 0) break;
  }
  const Ended ended = run_command({heaptape_path(), "info", tape_path()});
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(ended.err, "heaptape: cannot open '" + tape_path() + "': No such file or directory; '" +
                           tape_path() + ".partial' is empty: the recording has only begun, or " +
                           "its recorder was killed before it held a call\n");
  EXPECT_EQ(record({"/bin/true"}).status, 0);
  EXPECT_FALSE(std::filesystem::exists(tape_path() + ".partial.old"))
      << "there was nothing to keep";
}

TEST_F(RecordKills, OfNothingLeaveNoPartialFile) {
  record({target_path("no_call")});
  EXPECT_FALSE(std::filesystem::exists(tape_path() + ".partial"));
}

TEST_F(RecordKills, LeaveATapeThatOpensAsItIs) {
  Command recorder({.words = endless_and_prompt()});
  ASSERT_TRUE(wait_for_tape());
  ASSERT_TRUE(wait_for_calls(300'000));
  recorder.send(SIGKILL);
  recorder.wait();
  shared_->stop = 1;
  const Ended stats = run_command({heaptape_path(), "stats", tape_path() + ".partial"});
  EXPECT_EQ(stats.status, 0) << stats.describe();
  EXPECT_NE(stats.err.find("was not finished: it holds the first"), std::string::npos) << stats.err;
}

TEST_F(RecordKills, AreNotNeededToReadATape) {
  Command recorder({.words = endless_and_prompt()});
  ASSERT_TRUE(wait_for_tape());
  uint64_t events = 0;
  for (uint64_t i = 1; i <= 30; ++i) {
    ASSERT_TRUE(wait_for_calls(i * 100'000));
    auto tape = schema::TapeReader::open(tape_path() + ".partial");
    ASSERT_TRUE(tape.ok()) << tape.error().message;
    EXPECT_GE(tape->events(), events);
    events = tape->events();
    ASSERT_TRUE(tape->seek(events - std::min<uint64_t>(events, 100)).ok());
    uint64_t end = 0;
    schema::EventBatch last;  // of a chunk
    do {
      ASSERT_TRUE(tape->read(last, 1000).ok());
      end = std::max(end, last.first_event + last.events.size());
    } while (!last.events.empty());
    EXPECT_EQ(end, events);
  }
  EXPECT_GT(events, 1'000'000u);
}

// The later ones come when all calls are long in the file.
TEST_F(RecordKills, LeaveTheMarksOfAProgramThatIsSilent) {
  const auto marks = [this] {
    auto tape = schema::TapeReader::open(tape_path() + ".partial");
    schema::EventBatch batch;
    size_t count = 0;
    do {
      if (!tape.ok() || !tape->read(batch, 10'000).ok()) break;
      count += batch.marks.size();
    } while (!batch.events.empty());
    return count;
  };
  Command recorder({.words = record_words({"/bin/sleep", "50"})});
  ASSERT_TRUE(wait_for_tape());
  const int program = child_of(recorder.pid());
  ASSERT_GT(program, 0);  // 0 would be this test's process group
  for (size_t i = 1; i <= 3; ++i) {
    const Words words = {"heaptape", "ctl", std::to_string(program), "mark", std::to_string(i)};
    EXPECT_EQ(run(words).status, 0);
    EXPECT_TRUE(wait_until([&] { return marks() == i; })) << i;
  }
  recorder.send(SIGKILL);
  recorder.wait();
  kill(program, SIGKILL);
  EXPECT_EQ(marks(), 3u);
}

// Other programs come and go there, too, and the folders of other tests.
TEST_F(RecordKills, LeaveNothingOfOursInSharedMemory) {
  const auto ours = [] {
    std::set<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator("/dev/shm")) {
      const std::string name = file.path().filename();
      if (name.find("heaptape") != std::string::npos && !name.starts_with("heaptape-test-")) {
        names.insert(name);
      }
    }
    return names;
  };
  const auto before = ours();
  Command recorder({.words = endless(1)});
  ASSERT_TRUE(wait_for_calls(1000));
  recorder.send(SIGKILL);
  recorder.wait();
  shared_->stop = 1;
  EXPECT_EQ(ours(), before);
}

TEST_F(RecordKills, AStoppedRecorderHoldsTheProgramUpForALimitedTime) {
  Command recorder({.words = endless(2)});
  ASSERT_TRUE(wait_for_calls(some_calls()));
  stop_wholly(recorder);
  const uint64_t calls_then = calls();
  // Far more than what fits into two rings.
  EXPECT_TRUE(wait_for_calls(calls_then + 1'000'000));
  recorder.send(SIGCONT);
  EXPECT_TRUE(wait_for_calls(calls() + 1'000'000));
  shared_->stop = 1;
  const Ended ended = recorder.wait();
  EXPECT_EQ(ended.status, 7) << ended.describe();
  const Tape tape = read_tape();
  EXPECT_GE(tape.summary.losses.lost_events, 900'000u);
  // libc makes a few calls for the second thread.
  EXPECT_GE(tape.events.size() + tape.summary.losses.lost_events, calls());
  EXPECT_LE(tape.events.size() + tape.summary.losses.lost_events, calls() + 16);
  EXPECT_FALSE(verifies());
}

TEST_F(RecordKills, AStoppedRecorderLetsProgramsStartAndSaysHowManyItMissed) {
  const std::string leaf = target_path("processes") + " leaf 3; ";
  const std::string fifo = dir_.file("fifo");
  const std::string done = dir_.file("done");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const std::string script =
      "echo ready; read line <" + fifo + "; " + leaf + leaf + leaf + ": >" + done;
  Command recorder({.words = record_words({"/bin/sh", "-c", script})});
  ASSERT_TRUE(recorder.wait_for_output("ready"));
  stop_wholly(recorder);
  write_bytes(fifo, "go\n");
  EXPECT_TRUE(wait_until([&] { return access(done.c_str(), F_OK) == 0; }));
  recorder.send(SIGCONT);
  const Ended ended = recorder.wait();
  EXPECT_EQ(ended.status, 0);
  EXPECT_NE(ended.err.find("3 processes were not recorded"), std::string::npos) << ended.err;
  EXPECT_EQ(manifest().processes.size(), 1u);
}

// More greetings than it can have looked at before it sees that its program has ended.
TEST_F(RecordKills, AStoppedRecorderCountsAllWhoGaveUpOnItThoughItsProgramHasEnded) {
  const std::string python = "/usr/bin/python3";
  if (access(python.c_str(), X_OK) != 0) GTEST_SKIP() << "there is no python3";
  const std::string done = dir_.file("done");
  const std::string script =
      "import os, socket, struct\n"
      "print('ready', flush=True)\n"
      "while not os.path.exists('" +
      dir_.file("go") +
      "'): pass\n"
      "name, token = os.environ['HEAPTAPE_SESSION'].split(':')\n"
      "for i in range(1000):\n"
      "  with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as recorder:\n"
      "    recorder.connect('\\0heaptape-' + name)\n"
      "    recorder.send(b'hthello1' + struct.pack('<II', " +
      std::to_string(recorder::kLayoutVersion) + ", os.getpid()) + token.encode() + bytes(" +
      std::to_string(sizeof(recorder::AllocatorFacts)) +
      "))\n"
      "open('" +
      done + "', 'w')\n";
  Command recorder({.words = record_words({python, "-c", script})});
  ASSERT_TRUE(recorder.wait_for_output("ready"));
  stop_wholly(recorder);
  write_bytes(dir_.file("go"), "");
  EXPECT_TRUE(wait_until([&] { return access(done.c_str(), F_OK) == 0; }));
  recorder.send(SIGCONT);
  const Ended ended = recorder.wait();
  EXPECT_NE(ended.err.find("1000 processes were not recorded"), std::string::npos) << ended.err;
}

class RecordKillsPriority : public RecordKills {};

// The thread that copies calls comes before the program, the one that puts them onto tapes behind
// it.
TEST_F(RecordKillsPriority, PutsTheProgramBeforeItsTape) {
  if (!is_root()) GTEST_SKIP() << "needs the right to raise a priority";
  const auto priority_of = [](int thread) {
    return getpriority(PRIO_PROCESS, static_cast<id_t>(thread));
  };
  Command recorder({.words = record_words({"/bin/sleep", "60"})});
  ASSERT_TRUE(wait_for_tape());
  const int program = child_of(recorder.pid());
  EXPECT_EQ(priority_of(program), priority_of(0));
  const std::string tasks = "/proc/" + std::to_string(recorder.pid()) + "/task";
  const auto threads_before_it = [&] {
    int before = 0;
    for (const auto& task : std::filesystem::directory_iterator(tasks)) {
      before += priority_of(std::stoi(task.path().filename())) < priority_of(0) ? 1 : 0;
    }
    return before;
  };
  // A process that comes is urgent for a moment.
  EXPECT_TRUE(wait_until([&] { return priority_of(recorder.pid()) > priority_of(0); }));
  EXPECT_EQ(threads_before_it(), 1);
  kill(program, SIGKILL);
  recorder.wait();
}

// Whether more threads are ready to run than heaptape takes for few.
bool is_crowded() {
  double loads[3];
  int ready = 0;
  const std::string text = read_bytes("/proc/loadavg");
  return sscanf(text.c_str(), "%lf %lf %lf %d/", &loads[0], &loads[1], &loads[2], &ready) != 4 ||
         ready >= sysconf(_SC_NPROCESSORS_ONLN) + 4;
}

// The processors on which a thread may run.
cpu_set_t processors_of(int thread) {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(thread, sizeof set, &set);  // fails where the thread has ended
  return set;
}

// docs/decisions/0045-processors.md: the thread that watches rings, the one that works, and two
// that write.
TEST_F(RecordKills, LeaveItsProcessorToAProgram) {
  const cpu_set_t all = processors_of(0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "there is one processor";
  uint32_t processor = 0;
  while (!CPU_ISSET(processor, &all)) ++processor;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  Command recorder({.words = endless(1, {"--backlog", "1GiB"})});  // not half full soon
  ASSERT_TRUE(wait_for_tape());
  if (schema::TapeReader::open(tape_path() + ".partial")->header().clock !=
      schema::StampClock::kTsc) {
    GTEST_SKIP() << "no TSC to rely on";
  }
  ASSERT_EQ(sched_setaffinity(child_of(recorder.pid()), sizeof one, &one), 0);
  const std::string tasks = "/proc/" + std::to_string(recorder.pid()) + "/task";
  const auto threads_elsewhere = [&] {
    int count = 0;
    for (const auto& task : std::filesystem::directory_iterator(tasks)) {
      const cpu_set_t set = processors_of(std::stoi(task.path().filename()));
      count += CPU_COUNT(&set) != 0 && !CPU_ISSET(processor, &set) ? 1 : 0;
    }
    return count;
  };
  bool was_crowded = false;
  for (int left = 100; threads_elsewhere() != 4 && left != 0; --left) {
    was_crowded |= is_crowded();
    usleep(10'000);
  }
  const int elsewhere = threads_elsewhere();
  shared_->stop = 1;
  EXPECT_EQ(recorder.wait().status, 7);  // the tape is too long to be read here
  if (was_crowded && elsewhere != 4) GTEST_SKIP() << "the machine is too busy";
  EXPECT_EQ(elsewhere, 4);
}

TEST_F(RecordKills, OfTheRecorderBySigtermReachTheProgram) {
  Command recorder({.words = endless(1)});
  ASSERT_TRUE(wait_for_calls(1000));
  recorder.send(SIGTERM);
  const Ended ended = recorder.wait();
  EXPECT_EQ(ended.status, 7) << ended.describe();
  EXPECT_EQ(shared_->terms, 1u);
}

TEST_F(RecordKills, BySignalsThatEndTheProgramEndTheRecorderAlike) {
  for (const int signal : {SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2}) {
    Command recorder({.words = endless(1)});
    ASSERT_TRUE(wait_for_calls(calls() + 1000));
    recorder.send(signal);
    EXPECT_EQ(recorder.wait().signal, signal);
    EXPECT_EQ(read_tape().summary.end_status, signal);
  }
}

}  // namespace
}  // namespace heaptape::tests
