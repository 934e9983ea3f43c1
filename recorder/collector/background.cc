#include "recorder/collector/background.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <string_view>
#include <system_error>
#include <thread>

namespace heaptape::recorder {
namespace {

using base::Error;
using base::Result;

// A TargetEnvironment as two texts, each ended by a 0.
using Message = std::array<char, PATH_MAX + 256>;

// Returns the bytes of a message; 0 if the other process has closed its end.
template <typename Content>
size_t receive(int socket, Content& content) {
  ssize_t got;
  do {
    got = recv(socket, &content, sizeof content, 0);
  } while (got < 0 && errno == EINTR);
  return got > 0 ? static_cast<size_t>(got) : 0;
}

TargetEnvironment parse(const Message& message, size_t bytes) {
  const std::string_view text(message.data(), bytes);
  const size_t end = text.find('\0');
  const std::string_view rest = text.substr(end + 1);
  return {std::string(text.substr(0, end)), std::string(rest.substr(0, rest.find('\0')))};
}

void close_all(int first, int last) {
  if (first > last || syscall(SYS_close_range, first, last, 0) == 0) return;
  const int most = static_cast<int>(sysconf(_SC_OPEN_MAX));  // before Linux 5.9
  for (int i = first; i <= std::min(last, most); ++i) close(i);
}

// The recorder must not hold what the supervisor opened for the program: sockets, locks, a standard
// output whose reader waits for its end.
void leave_descriptors(int kept) {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0) {
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
  }
  close_all(STDERR_FILENO + 1, kept - 1);
  close_all(kept + 1, INT_MAX);
}

// Signals that a supervisor sends to all of a service, such as SIGABRT of a watchdog, are not for
// the recorder. Those of its own mistakes are.
void block_signals() {
  sigset_t set;
  sigfillset(&set);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&set, fault);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

// Runs in a new thread: after a bare clone(2) the C library still has the parent's thread id, and
// no list of robust locks.
[[noreturn]] void be_recorder(Background& background, const BackgroundRecorder& record) {
  int code = 0;
  try {
    std::thread([&] { code = record(&background); }).join();
  } catch (const std::system_error& error) {
    code = record(base::os_error("cannot start a thread for the recorder", error.code().value()));
  }
  _exit(code);
}

}  // namespace

Result<Target> Background::start_parent(const TargetEnvironment& environment) {
  std::string text = environment.preload_library;
  text += '\0';
  text += environment.session_value;
  text += '\0';
  if (text.size() > sizeof(Message)) return base::os_error("cannot preload", ENAMETOOLONG);
  int failure = 0;
  if (send(parent_.get(), text.data(), text.size(), MSG_NOSIGNAL) < 0) {
    return Error::target("'" + command_ + "' was killed before it could run");
  }
  if (receive(parent_.get(), failure) != 0) {
    return base::os_error("cannot run '" + command_ + "'", failure);
  }
  parent_.reset();
  return Target{.pid = parent_pid_, .is_our_child = false};
}

void Background::leave_standard_error() {
  const base::Descriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (null) dup2(null.get(), STDERR_FILENO);
}

void Background::wait_for_parent() const {
  constexpr timespec kLongest{1, 0};  // Linux checks whether the parent may signal us
  malloc_trim(0);
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGCHLD);
  while (getppid() == parent_pid_) sigtimedwait(&end, nullptr, &kLongest);
}

Result<int> exec_recorded(const std::vector<std::string>& command,
                          const BackgroundRecorder& record) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return base::os_error("cannot make a socket for the recorder", errno);
  }
  base::Descriptor ours(ends[0]);
  base::Descriptor recorders(ends[1]);
  const int pid = getpid();
  constexpr unsigned long kNoSignalAtItsEnd = 0;
  const long child = syscall(SYS_clone, kNoSignalAtItsEnd, nullptr, nullptr, nullptr, nullptr);
  if (child < 0) return base::os_error("cannot start the recorder", errno);
  if (child == 0) {
    ours.reset();
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGCHLD);
    signal(SIGPIPE, SIG_IGN);
    block_signals();
    leave_descriptors(recorders.get());
    Background background(std::move(recorders), command[0], pid);
    be_recorder(background, record);
  }
  recorders.reset();
  Message message;
  if (const size_t bytes = receive(ours.get(), message); bytes != 0) {
    const int failure = TargetProgram(command, parse(message, bytes)).execute();
    send(ours.get(), &failure, sizeof failure, MSG_NOSIGNAL);
  }
  int status = 0;
  while (waitpid(static_cast<int>(child), &status, __WCLONE) < 0) {
    if (errno != EINTR) return base::os_error("cannot wait for the recorder", errno);
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  return Error::target("the recorder was killed by signal " + std::to_string(WTERMSIG(status)) +
                       " before the program could start");
}

}  // namespace heaptape::recorder
