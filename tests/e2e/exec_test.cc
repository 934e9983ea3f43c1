// `heaptape exec`: the program has the pid that was started, and is recorded from behind.
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "base/descriptor.h"
#include "tests/e2e/minimal_root.h"
#include "tests/e2e/record_fixture.h"
#include "tests/support/command.h"

namespace heaptape::tests {
namespace {

constexpr int kStatusOfService = 7;
constexpr char kStopped[] = "still running when the recording ended";

class ExecTest : public RecordTest {
 protected:
  Words exec_words(const Words& command, const Words& options = {}) const {
    Words words = {heaptape_path(), "exec", "-o", tape_path()};
    words.insert(words.end(), options.begin(), options.end());
    words.emplace_back("--");
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }
  Words service() const { return {target_path("service"), told_}; }
  // Once the recorder has ended, which is after the program.
  bool wait_until_written() const {
    return wait_until([this] { return std::filesystem::exists(tape_path() + kManifest); });
  }
  void tell() const { write_bytes(told_, ""); }
  // Expects that its pid is that which was started, and a whole tape.
  void expect_whole(const Command& command, const std::string& ended) const {
    EXPECT_EQ(command.output(), std::to_string(command.pid()) + "\n");
    ASSERT_TRUE(wait_until_written());
    EXPECT_TRUE(all_verify());
    EXPECT_EQ(manifest().processes.at(0).pid, static_cast<uint32_t>(command.pid()));
    EXPECT_EQ(manifest().processes.at(0).ended, ended);
  }
  // The recorder of the program: its oldest child.
  static int recorder_of(int pid) {
    const std::string task = "/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid);
    int recorder = 0;
    std::ifstream(task + "/children") >> recorder;
    return recorder;
  }

  static constexpr char kManifest[] = ".manifest.json";
  const std::string told_ = dir_.file("told");
};

TEST_F(ExecTest, KeepsThePidThatWasStarted) {
  const CommandLine line{.words = exec_words(service())};
  Command command(line);
  ASSERT_TRUE(command.wait_for_output("\n"));
  tell();
  const Ended ended = command.wait();
  EXPECT_EQ(ended.status, kStatusOfService) << ended.describe();
  EXPECT_EQ(ended.err, "");
  expect_whole(command, "exited");
  EXPECT_EQ(read_tape().mallocs_of(778), 1000u);
}

// The socket NOTIFY_SOCKET of a supervisor.
base::Descriptor open_notify_socket(const std::string& path) {
  base::Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  EXPECT_EQ(bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return socket;
}

// The pid of who says READY=1 there, as the kernel gives it.
int receive_ready(int socket) {
  char text[64] = {};
  iovec part{text, sizeof text};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  EXPECT_EQ(recvmsg(socket, &message, 0), 7);
  EXPECT_STREQ(text, "READY=1");
  ucred sender{};
  std::copy_n(CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof sender,
              reinterpret_cast<unsigned char*>(&sender));
  return sender.pid;
}

TEST_F(ExecTest, TellsASupervisorThePidThatItStarted) {
  const std::string path = dir_.file("notify");
  const base::Descriptor socket = open_notify_socket(path);
  const CommandLine line{.words = exec_words(service()), .environment = {"NOTIFY_SOCKET=" + path}};
  Command command(line);
  EXPECT_EQ(receive_ready(socket.get()), command.pid());
  tell();
  EXPECT_EQ(command.wait().status, kStatusOfService);
}

TEST_F(ExecTest, KeepsTheLastCallsOfANotifyService) {
  const std::string path = dir_.file("notify");
  const base::Descriptor socket = open_notify_socket(path);
  const CommandLine line{.words = exec_words(service(), {"--keep-last", "10m"}),
                         .environment = {"NOTIFY_SOCKET=" + path}};
  Command command(line);
  EXPECT_EQ(receive_ready(socket.get()), command.pid());
  ASSERT_TRUE(command.wait_for_output("\n"));
  const Ended flushed =
      run_command({heaptape_path(), "ctl", std::to_string(command.pid()), "flush"});
  EXPECT_EQ(flushed.status, 0) << flushed.describe();
  EXPECT_TRUE(verifies(dir_.file("run.flush-1.tape")));
  kill(-command.pid(), SIGKILL);
  EXPECT_EQ(command.wait().signal, SIGKILL);
  expect_whole(command, "exited");
  EXPECT_GT(read_tape().mallocs_of(777), 0u);
}

TEST_F(ExecTest, RecordsUpToAKillOfTheWholeGroup) {
  for (const int signal : {SIGTERM, SIGHUP, SIGINT, SIGKILL}) {
    std::filesystem::remove(tape_path() + kManifest);
    const CommandLine line{.words = exec_words(service(), {"--force"})};
    Command command(line);
    ASSERT_TRUE(command.wait_for_output("\n"));
    kill(-command.pid(), signal);
    EXPECT_EQ(command.wait().signal, signal);
    expect_whole(command, "exited");
  }
}

TEST_F(ExecTest, HasARecorderThatNeedsNothingOfTheProgram) {
  const CommandLine line{.words = exec_words(service())};
  Command command(line);
  ASSERT_TRUE(command.wait_for_output("\n"));
  const int recorder = recorder_of(command.pid());
  ASSERT_NE(recorder, 0);
  EXPECT_EQ(getsid(recorder), recorder);
  const auto files = [](int pid) { return "/proc/" + std::to_string(pid) + "/fd/"; };
  EXPECT_EQ(std::filesystem::read_symlink(files(recorder) + "0"), "/dev/null");
  const auto output = std::filesystem::read_symlink(files(command.pid()) + "1");
  for (const auto& entry : std::filesystem::directory_iterator(files(recorder))) {
    std::error_code closed;
    EXPECT_NE(std::filesystem::read_symlink(entry.path(), closed), output) << entry.path();
  }
  // As systemd does to all of a service.
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGABRT, SIGRTMIN + 3}) {
    kill(recorder, signal);
  }
  tell();
  EXPECT_EQ(command.wait().status, kStatusOfService);
  expect_whole(command, "exited");
  EXPECT_EQ(read_tape().mallocs_of(778), 1000u);
}

TEST_F(ExecTest, ClosesWhatTheSupervisorOpened) {
  const std::string file = dir_.file("opened");
  Words words = {"bash", "-c", "exec 9>" + file + "; exec \"$@\"", "bash"};
  std::ranges::copy(exec_words(service()), std::back_inserter(words));
  const CommandLine line{.words = words};
  Command command(line);
  ASSERT_TRUE(command.wait_for_output("\n"));
  const auto at = [](int pid) {
    std::error_code ignored;
    return std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/fd/9", ignored);
  };
  EXPECT_EQ(at(command.pid()), file);
  EXPECT_NE(at(recorder_of(command.pid())), file);
  tell();
  EXPECT_EQ(command.wait().status, kStatusOfService);
}

TEST_F(ExecTest, RecordsDaemonsToTheirEnds) {
  tell();
  const std::string script = "(setsid bash -c 'sleep 0.3; exec " + target_path("service") + " " +
                             told_ + "' >/dev/null &); exit 5";
  const Ended ended = run_command(exec_words({"bash", "-c", script}));
  EXPECT_EQ(ended.status, 5) << ended.describe();
  ASSERT_TRUE(wait_until_written());
  EXPECT_TRUE(all_verify());
  for (const schema::ManifestProcess& process : manifest().processes) {
    EXPECT_NE(process.ended, kStopped) << process.title;
  }
  EXPECT_EQ(tape_that_asks_for(778).mallocs_of(778), 1000u);
}

// Nothing of the daemon is known before its first call, when its parent is long gone.
TEST_F(ExecTest, RecordsADaemonThatCallsMallocLate) {
  const Ended ended = run_command(exec_words({target_path("daemon")}));
  EXPECT_EQ(ended.status, 5) << ended.describe();
  ASSERT_TRUE(wait_until_written());
  EXPECT_TRUE(all_verify());
  EXPECT_EQ(tape_that_asks_for(778).mallocs_of(778), 1000u);
}

// As a daemon's parent does for whoever reads its output: $(server start 2>&1).
TEST_F(ExecTest, LeavesStandardErrorToDaemons) {
  std::string start = "(setsid " + target_path("service") + " " + told_ + " >/dev/null 2>&1 &)";
  std::string script = "x=$(";
  for (const std::string& word : exec_words({"bash", "-c"})) script += word + " ";
  script += "'" + start + "; :' 2>&1); touch " + told_;
  const Ended ended = run_command({"bash", "-c", script});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  EXPECT_TRUE(std::filesystem::exists(told_));
  ASSERT_TRUE(wait_until_written());
  EXPECT_EQ(tape_that_asks_for(778).mallocs_of(778), 1000u) << "it lives that long";
}

TEST_F(ExecTest, SaysThatItCannotHaveThreads) {
  if (kSanitized) GTEST_SKIP() << "a sanitized heaptape needs far more memory";
  std::string script = "ulimit -d 1000; exec";
  for (const std::string& word : exec_words({"ls"})) script += " " + word;
  const Ended ended = run_command({"bash", "-c", script});
  EXPECT_EQ(ended.status, 2) << ended.describe();
  EXPECT_NE(ended.err.find("thread"), std::string::npos) << ended.describe();
}

TEST_F(ExecTest, EndsWithTheCommandIfAsked) {
  const std::string script =
      "sleep 20 >/dev/null 2>&1 & while [ $(</proc/$!/comm) != sleep ]; do sleep 0.02; done; "
      "sleep 0.2; exit 5";
  const Ended ended = run_command(exec_words({"bash", "-c", script}, {"--wait", "target"}));
  EXPECT_EQ(ended.status, 5) << ended.describe();
  ASSERT_TRUE(wait_until_written());
  EXPECT_TRUE(std::ranges::any_of(manifest().processes,
                                  [](const auto& process) { return process.ended == kStopped; }));
}

TEST_F(ExecTest, LetsTheProgramRunOnAfterItsBounds) {
  const CommandLine line{.words = exec_words(service(), {"--duration", "100ms"})};
  Command command(line);
  ASSERT_TRUE(wait_until_written());
  EXPECT_EQ(manifest().processes.at(0).ended, kStopped);
  tell();
  EXPECT_EQ(command.wait().status, kStatusOfService);
}

TEST_F(ExecTest, EndsOnRequest) {
  const CommandLine line{.words = exec_words(service())};
  Command command(line);
  ASSERT_TRUE(command.wait_for_output("\n"));
  const Ended stopped =
      run_command({heaptape_path(), "ctl", std::to_string(command.pid()), "stop"});
  EXPECT_EQ(stopped.status, 0) << stopped.describe();
  EXPECT_TRUE(std::filesystem::exists(tape_path() + kManifest));
  EXPECT_TRUE(verifies());
  tell();
  EXPECT_EQ(command.wait().status, kStatusOfService);
}

// As under Restart=always.
TEST_F(ExecTest, KeepsTheTapesOfCrashes) {
  for (int i = 0; i < 3; ++i) {
    const Ended ended = run_command({heaptape_path(), "exec", "-o", dir_.file("%n.%p.tape"), "--",
                                     "bash", "-c", "echo $$; kill -SEGV $$"});
    ASSERT_EQ(ended.signal, SIGSEGV) << ended.describe();
    const std::string tape = dir_.file("bash." + lines_of(ended.out).at(0) + ".tape");
    EXPECT_TRUE(wait_until([&] { return std::filesystem::exists(tape); })) << tape;
  }
}

TEST_F(ExecTest, RefusesWhatRecordRefuses) {
  const Words missing = exec_words({"/nonexistent"});
  const Ended not_there = run_command(missing);
  EXPECT_EQ(not_there.status, 2) << not_there.describe();
  EXPECT_NE(not_there.err.find("cannot run '/nonexistent'"), std::string::npos) << not_there.err;
  EXPECT_EQ(run_command(exec_words({dir_.path()})).status, 2);
  EXPECT_FALSE(std::filesystem::exists(tape_path() + ".partial"));
  write_bytes(tape_path(), "an earlier one");
  const Ended kept = run_command(exec_words({"ls"}));
  EXPECT_EQ(kept.status, 2) << kept.describe();
  EXPECT_NE(kept.err.find("exists: give another name"), std::string::npos) << kept.err;
  EXPECT_EQ(kept.out, "");
}

// Its end is the end of all processes there.
class FirstProcess : public ExecTest {
 protected:
  void SetUp() override {
    if (const std::string reason = no_namespaces(); !reason.empty()) GTEST_SKIP() << reason;
    tell();
  }
  // Runs the words as the first process of a pid namespace.
  static Ended run_first(const Words& words) {
    std::string script = "mount -t proc proc /proc; exec";
    for (const std::string& word : words) script += " " + word;
    return run_command(in_namespaces(script));
  }
  void expect_complete(const Ended& ended) const {
    EXPECT_EQ(ended.status, kStatusOfService) << ended.describe();
    EXPECT_EQ(ended.out, "1\n");
    EXPECT_EQ(ended.err, "");
    ASSERT_TRUE(std::filesystem::exists(tape_path())) << "and not " << tape_path() << ".partial";
    EXPECT_TRUE(std::filesystem::exists(tape_path() + kManifest));
    EXPECT_TRUE(verifies());
  }
};

TEST_F(FirstProcess, WaitsForItsTape) {
  expect_complete(run_first(exec_words(service())));
  EXPECT_EQ(read_tape().mallocs_of(778), 1000u);
  EXPECT_EQ(manifest().processes.at(0).ended, "exited");
}

TEST_F(FirstProcess, MayHaveChangedItsUser) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const Words as_nobody = {"setpriv", "--reuid=65534", "--clear-groups", target_path("service")};
  if (run_command(as_nobody).status != kStatusOfService) GTEST_SKIP() << "nobody may not run it";
  std::string script = "mount -t proc proc /proc; exec";
  for (const std::string& word : exec_words(as_nobody)) script += " " + word;
  const Ended ended = run_command({"unshare", "-pfm", "sh", "-ec", script});
  expect_complete(ended);
  EXPECT_TRUE(all_verify());
  EXPECT_EQ(tape_that_asks_for(778).mallocs_of(778), 1000u);
}

}  // namespace
}  // namespace heaptape::tests
