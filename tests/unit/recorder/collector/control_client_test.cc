// Both sides of a request: the recorder's server and `heaptape ctl`'s client.
#include "recorder/collector/control_client.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "recorder/collector/handshake_server.h"
#include "tests/support/fake_session.h"
#include "tests/support/temp_dir.h"

namespace heaptape::recorder {
namespace {

constexpr int kPatienceMs = 20'000;
constexpr uint32_t kPid = 2'100'000'000;  // of no process

constexpr uid_t kNobody = 65534;

// Every recorder of the machine is asked: those of other processes of these tests must not be, who
// know kPid, or say nothing.
const std::string& own_prefix() {
  static const std::string prefix = "tests-of-ctl-" + std::to_string(getpid()) + "-";
  return prefix;
}

std::unique_ptr<HandshakeServer> open_server() {
  return std::move(*HandshakeServer::open(nullptr, own_prefix()));
}

ControlOrder mark_order(uint32_t pid, const std::string& name) {
  return {.verb = ControlVerb::kMark, .pid = pid, .name = name};
}

base::Result<ControlReply> ask_for_mark(uint32_t pid, const std::string& name, int patience_ms) {
  return request_control(mark_order(pid, name), patience_ms, own_prefix());
}

// A recorder that puts each mark for kPid at call 42, and knows no other process.
class Recorder {
 public:
  // `tape`: that it writes, if any.
  explicit Recorder(const std::string& tape = "") : thread_([this, tape] { run(tape); }) {}
  ~Recorder() {
    done_ = true;
    thread_.join();
  }

  std::string last_name() const { return last_name_; }

 private:
  void run(const std::string& tape) {
    server_->name_tape(tape);
    std::vector<pollfd> waits;
    while (!done_) {
      waits.clear();
      server_->add_waits(waits);
      poll(waits.data(), waits.size(), 1);
      server_->serve(waits, {-1, -1, session_.pools()});
      for (const ControlRequest& request : server_->take_requests()) {
        last_name_ = request.name;
        const bool is_known = request.pid == kPid || request.is_of_this_recording;
        const auto outcome = is_known ? ControlOutcome::kDone : ControlOutcome::kUnknownTarget;
        const ControlReply reply{kControlMagic, outcome, 0, 42, 1000, {}};
        send(request.connection.get(), &reply, sizeof reply, MSG_NOSIGNAL);
      }
    }
  }

  tests::FakeSession session_;
  std::unique_ptr<HandshakeServer> server_ = open_server();
  std::atomic<bool> done_ = false;
  std::string last_name_;  // read when a reply has come
  std::thread thread_;
};

// The wait status of a child that exits with what `ask` returns, which runs while there is a
// recorder. The child is forked before the recorder's thread: it calls malloc, and a fork leaves
// locked for ever what another thread had locked (in AddressSanitizer of clang 14, malloc).
int status_beside_a_recorder(int (*ask)()) {
  own_prefix();  // of this process
  int ready[2];
  EXPECT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte = 0;
    _exit(read(ready[0], &byte, 1) == 1 ? ask() : 3);
  }
  const Recorder recorder;
  EXPECT_EQ(write(ready[1], "r", 1), 1);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  close(ready[0]);
  close(ready[1]);
  return status;
}

TEST(ControlClient, MayNotAnnounceTheEndOfAnother) {
  const Recorder recorder;
  const auto reply =
      request_control({.verb = ControlVerb::kEnd, .pid = kPid}, kPatienceMs, own_prefix());
  EXPECT_FALSE(reply.ok());
}

TEST(ControlClient, FindsTheRecorderOfAProcessAmongOthers) {
  const auto other = open_server();  // says nothing
  const Recorder recorder;
  const auto place = ask_for_mark(kPid, "warm-1.a_B", kPatienceMs);
  ASSERT_TRUE(place.ok()) << place.error().message;
  EXPECT_EQ(place->event, 42u);
  EXPECT_EQ(place->time_ns, 1000u);
  EXPECT_EQ(recorder.last_name(), "warm-1.a_B");
}

TEST(ControlClient, FindsTheRecorderOfATapeThatIsWritten) {
  const tests::TempDir dir;
  const std::string tape = dir.file("a.tape");
  tests::write_bytes(tape + ".partial", "");
  tests::write_bytes(dir.file("b.tape.partial"), "");
  const Recorder other(dir.file("c.tape"));
  const Recorder recorder(tape);
  const auto status = [&dir](const std::string& name) {
    return request_control({.verb = ControlVerb::kStatus, .tape = dir.file(name)}, kPatienceMs,
                           own_prefix());
  };
  for (const char* const name : {"a.tape", "a.tape.partial", "a.tape.manifest.json"}) {
    EXPECT_TRUE(status(name).ok()) << name;
  }
  EXPECT_NE(status("b.tape").error().message.find("none of your recorders is recording to"),
            std::string::npos);
  EXPECT_NE(status("d.tape").error().message.find("nobody is recording to"), std::string::npos);
}

// A recorder that says nothing would be waited for, and one that knows the process would be found.
TEST(ControlClient, AsksNoRecorderOfAnotherPrefix) {
  const Recorder recorder;
  const auto place =
      request_control(mark_order(kPid, "warm"), kPatienceMs, own_prefix() + "other-");
  ASSERT_FALSE(place.ok());
  EXPECT_EQ(place.error().code, base::ErrorCode::kUsage) << place.error().message;
}

TEST(ControlClient, SaysThatNobodyRecordsAProcess) {
  const Recorder recorder;
  const auto place = ask_for_mark(kPid + 1, "warm", kPatienceMs);
  ASSERT_FALSE(place.ok());
  EXPECT_EQ(place.error().code, base::ErrorCode::kUsage);
  EXPECT_NE(place.error().message.find("none of your recorders is recording process 2100000001"),
            std::string::npos);
}

// It was the recorder of some other process: they come and go.
TEST(ControlClient, AsksAgainWhenARecorderEndsMeanwhile) {
  auto other = open_server();
  std::thread ending([&other] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    other.reset();
  });
  const auto place = ask_for_mark(kPid, "warm", kPatienceMs);
  ending.join();
  ASSERT_FALSE(place.ok());
  EXPECT_EQ(place.error().code, base::ErrorCode::kUsage) << place.error().message;
}

TEST(ControlClient, DoesNotWaitForEverForARecorderThatIsStopped) {
  const auto stopped = open_server();
  const auto place = ask_for_mark(kPid, "warm", 10);
  ASSERT_FALSE(place.ok());
  EXPECT_EQ(place.error().code, base::ErrorCode::kTarget);
}

TEST(ControlClient, TakesNoNameThatAMetricCannotHave) {
  for (const std::string& name :
       {std::string(), std::string(65, 'a'), std::string("a b"), std::string("a\n"),
        std::string("a\"b"), std::string("\xc3\xa4"), std::string("a>1"), std::string("-a")}) {
    const auto place = ask_for_mark(kPid, name, kPatienceMs);
    ASSERT_FALSE(place.ok()) << name;
    EXPECT_NE(place.error().message.find("cannot name a mark"), std::string::npos) << name;
  }
}

// It has a process of that number, but what is it?
TEST(ControlClient, FindsNoRecorderOfAnotherPidNamespace) {
  const int status = status_beside_a_recorder([] {
    if (unshare(CLONE_NEWPID) != 0) return 77;
    const pid_t inner = fork();
    if (inner == 0) _exit(ask_for_mark(kPid, "warm", kPatienceMs).ok() ? 1 : 0);
    int inner_status = 0;
    return waitpid(inner, &inner_status, 0) == inner && WIFEXITED(inner_status)
               ? WEXITSTATUS(inner_status)
               : 2;
  });
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "only root can make a pid namespace";
  EXPECT_EQ(status, 0);
}

// Whoever calls a socket as a recorder does.
TEST(ControlClient, TrustsNoSocketOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  own_prefix();  // of this process
  const pid_t child = fork();
  if (child == 0) {
    if (setuid(kNobody) != 0) _exit(2);
    const auto forged = open_server();  // says nothing
    (void)!write(ready[1], "r", 1);
    pause();
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  const auto place = ask_for_mark(1, "warm", 50);  // process 1 is root's
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  EXPECT_EQ(place.error().code, base::ErrorCode::kUsage) << "did not wait for it";
}

TEST(ControlClient, HasNoSayInTheRecordingsOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  EXPECT_EQ(status_beside_a_recorder([] {
              if (setuid(kNobody) != 0) return 2;
              return ask_for_mark(kPid, "warm", kPatienceMs).ok() ? 1 : 0;
            }),
            0);
}

}  // namespace
}  // namespace heaptape::recorder
