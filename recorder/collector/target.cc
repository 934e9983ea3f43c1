#include "recorder/collector/target.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/descriptor.h"
#include "base/install_paths.h"
#include "recorder/ring/handshake.h"

namespace heaptape::recorder {
namespace {

using base::Error;
using base::Result;

// The caller's environment with the session and the preload library. That library comes first in
// LD_PRELOAD: its functions must be found before those of a library that was there already.
std::vector<std::string> make_environment(const TargetEnvironment& ours) {
  const std::string session_prefix = std::string(kSessionVariable) + "=";
  std::string preload = "LD_PRELOAD=" + ours.preload_library;
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with("LD_PRELOAD=")) {
      if (text.size() > std::strlen("LD_PRELOAD=")) {
        preload += ":" + std::string(text.substr(std::strlen("LD_PRELOAD=")));
      }
    } else if (!text.starts_with(session_prefix)) {
      environment.emplace_back(text);
    }
  }
  environment.push_back(std::move(preload));
  environment.push_back(session_prefix + ours.session_value);
  return environment;
}

std::vector<char*> as_pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

struct Pipe {
  base::Descriptor out;
  base::Descriptor in;
};

// Both ends are closed by an exec that works.
Result<Pipe> open_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return base::os_error("cannot make a pipe", errno);
  return Pipe{base::Descriptor(ends[0]), base::Descriptor(ends[1])};
}

}  // namespace

TargetProgram::TargetProgram(const std::vector<std::string>& command,
                             const TargetEnvironment& environment)
    : words_(command),
      variables_(make_environment(environment)),
      argv_(as_pointers(words_)),
      envp_(as_pointers(variables_)) {}

int TargetProgram::execute() const {
  execvpe(argv_[0], argv_.data(), envp_.data());
  return errno;
}

Result<int> start_target(const std::vector<std::string>& command,
                         const TargetEnvironment& environment, const RecorderSignals& signals,
                         TargetGroup group) {
  const TargetProgram program(command, environment);
  HEAPTAPE_ASSIGN_OR_RETURN(Pipe exec_error, open_pipe());
  const int pid = fork();
  if (pid < 0) return base::os_error("cannot start '" + command[0] + "'", errno);
  if (pid == 0) {
    signals.restore_in_child();
    if (group == TargetGroup::kOwn) setpgid(0, 0);
    const int failure = program.execute();
    [[maybe_unused]] const ssize_t told = write(exec_error.in.get(), &failure, sizeof failure);
    _exit(127);
  }
  exec_error.in.reset();
  int failure = 0;
  ssize_t got;
  do {
    got = read(exec_error.out.get(), &failure, sizeof failure);
  } while (got < 0 && errno == EINTR);
  if (got != sizeof failure) return pid;
  waitpid(pid, nullptr, 0);
  return base::os_error("cannot run '" + command[0] + "'", failure);
}

std::optional<TargetEnd> poll_target(const Target& target) {
  if (!target.is_our_child) {  // another has adopted us
    return getppid() != target.pid ? std::optional(TargetEnd{.status = -1}) : std::nullopt;
  }
  int status = 0;
  if (waitpid(target.pid, &status, WNOHANG) != target.pid) return std::nullopt;
  if (WIFSIGNALED(status)) return TargetEnd{true, WTERMSIG(status)};
  return TargetEnd{false, WEXITSTATUS(status)};
}

bool reap_orphans(int target) {
  for (;;) {
    siginfo_t child{};
    if (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) != 0) return errno != ECHILD;
    if (child.si_pid == 0 || child.si_pid == target) return true;
    waitpid(child.si_pid, nullptr, WNOHANG);
  }
}

void end_like(const TargetEnd& end) {
  if (end.signalled) {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    signal(end.status, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, end.status);
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
    raise(end.status);
    _exit(128 + end.status);
  }
  std::exit(end.status);
}

Result<std::string> find_preload_library() {
  HEAPTAPE_ASSIGN_OR_RETURN(std::string path, base::find_private_file(kPreloadName));
  if (path.find_first_of(": ") != std::string::npos) {
    return Error::usage("cannot preload '" + path +
                        "': LD_PRELOAD takes no path with a colon or a space; install heaptape in "
                        "another directory");
  }
  return path;
}

}  // namespace heaptape::recorder
