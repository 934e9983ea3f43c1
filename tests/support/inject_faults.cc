// Runs a command whose system calls fail as told, as a kernel in trouble would have them fail.
//
// usage: inject_faults DIRECTORY LOG FAULT... -- COMMAND...
//
// DIRECTORY is the command's working directory. LOG gets a line "PROGRAM CALL PATH" for each system
// call of interest, in order; one that was made to fail begins with "!". PROGRAM is the name of the
// executable, with "*" for a forked process that has not executed one yet. PATH is the file that
// the call is about: "~" stands for DIRECTORY, and N for a number of three or more digits, such as
// a pid. What the loader does before a program begins is left out.
//
// FAULT is one of:
//   interrupt                         every call that may wait fails once with EINTR before it is
//   done short                             reads and writes of more than one byte move some of
//   their bytes only "ERRNO FIRST LAST PROGRAM CALL PATH"  such calls from the FIRST to the LAST,
//   counted from 1, fail; LAST may be "-".
//                                     "*" stands for every PATH, and "~" for every PATH in
//                                     DIRECTORY
//
// Ends as the command does. By ptrace, so that also calls of programs that go around the C library
// are seen.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

enum class File { kNone, kDescriptor, kPath, kName, kAt, kMapping };  // where a call names its file

struct Call {
  const char* name;
  File file = File::kNone;
  int argument = 0;  // of the file: its descriptor, its path, or the descriptor before its path
  int bytes = -1;    // the argument that says how many to move: 2, or none
  bool may_wait = false;
};

const std::map<uint64_t, Call> kCalls = {
    {SYS_read, {"read", File::kDescriptor, 0, 2, true}},
    {SYS_pread64, {"pread", File::kDescriptor, 0, 2, true}},
    {SYS_write, {"write", File::kDescriptor, 0, 2, true}},
    {SYS_pwrite64, {"pwrite", File::kDescriptor, 0, 2, true}},
    {SYS_writev, {"writev", File::kDescriptor, 0, -1, true}},
    {SYS_open, {"open", File::kPath}},
    {SYS_openat, {"open", File::kAt}},
    {SYS_close, {"close", File::kDescriptor}},
    {SYS_mmap, {"mmap", File::kMapping, 4}},
    {SYS_fcntl, {"fcntl", File::kDescriptor}},
    {SYS_flock, {"flock", File::kDescriptor}},
    {SYS_fsync, {"fsync", File::kDescriptor}},
    {SYS_ftruncate, {"ftruncate", File::kDescriptor}},
    {SYS_fallocate, {"fallocate", File::kDescriptor, 0, -1, true}},
    {SYS_lseek, {"lseek", File::kDescriptor}},
    {SYS_getdents64, {"getdents", File::kDescriptor}},
    {SYS_rename, {"rename", File::kPath}},
    {SYS_renameat2, {"renameat2", File::kAt}},
    {SYS_unlink, {"unlink", File::kPath}},
    {SYS_mkdir, {"mkdir", File::kPath}},
    {SYS_readlink, {"readlink", File::kPath}},
    {SYS_memfd_create, {"memfd_create", File::kName}},
    {SYS_dup, {"dup", File::kDescriptor}},
    {SYS_dup2, {"dup2", File::kDescriptor}},
    {SYS_pipe2, {"pipe2"}},
    {SYS_eventfd2, {"eventfd2"}},
    {SYS_signalfd4, {"signalfd4"}},
    {SYS_socket, {"socket"}},
    {SYS_bind, {"bind", File::kDescriptor}},
    {SYS_listen, {"listen", File::kDescriptor}},
    {SYS_connect, {"connect", File::kDescriptor, 0, -1, true}},
    {SYS_accept4, {"accept4", File::kDescriptor, 0, -1, true}},
    {SYS_sendmsg, {"sendmsg", File::kDescriptor}},
    {SYS_recvmsg, {"recvmsg", File::kDescriptor, 0, -1, true}},
    {SYS_sendto, {"sendto", File::kDescriptor, 0, -1, true}},
    {SYS_recvfrom, {"recvfrom", File::kDescriptor}},
    {SYS_poll, {"poll", File::kNone, 0, -1, true}},
    {SYS_wait4, {"wait4", File::kNone, 0, -1, true}},
    {SYS_waitid, {"waitid", File::kNone, 0, -1, true}},
    {SYS_clone, {"clone"}},
    {SYS_clone3, {"clone3"}},
    {SYS_fork, {"fork"}},
    {SYS_vfork, {"vfork"}},
    {SYS_pidfd_open, {"pidfd_open"}},
    {SYS_process_vm_readv, {"process_vm_readv"}},
    {SYS_getrandom, {"getrandom", File::kNone, 0, -1, true}},
};

const std::map<std::string, int> kErrors = {
    {"EACCES", EACCES}, {"EAGAIN", EAGAIN}, {"EBUSY", EBUSY},   {"EDQUOT", EDQUOT},
    {"EINTR", EINTR},   {"EIO", EIO},       {"EMFILE", EMFILE}, {"ENFILE", ENFILE},
    {"ENOENT", ENOENT}, {"ENOMEM", ENOMEM}, {"ENOSPC", ENOSPC}, {"ENOSYS", ENOSYS},
    {"EPERM", EPERM},   {"EROFS", EROFS},   {"ESRCH", ESRCH}};

struct Failure {
  int error = 0;
  uint64_t first = 0;
  uint64_t last = 0;
  std::string program, call, path;
  uint64_t seen = 0;
};

struct Task {
  std::string program;
  bool loading = true;
  int error = 0;                   // of the call that it is in
  std::set<uint64_t> interrupted;  // numbers of calls that failed with EINTR the last time
};

class Injector {
 public:
  Injector(std::string directory, const std::vector<std::string>& faults)
      : directory_(std::move(directory)) {
    for (const std::string& fault : faults) {
      if (fault == "interrupt") {
        interrupts_ = true;
      } else if (fault == "short") {
        shortens_ = true;
      } else {
        failures_.push_back(failure_of(fault));
      }
    }
  }

  // Returns how the process ended, as waitpid(2).
  int watch(pid_t first);
  const std::string& log() const { return log_; }

 private:
  static Failure failure_of(const std::string& text) {
    std::istringstream words(text);
    Failure failure;
    std::string error, last;
    words >> error >> failure.first >> last >> failure.program >> failure.call >> std::ws;
    std::getline(words, failure.path);
    failure.error = kErrors.at(error);
    failure.last = last == "-" ? ~0ull : std::stoull(last);
    return failure;
  }
  std::string plain(std::string path) const {
    if (path.starts_with(directory_)) path = "~" + path.substr(directory_.size());
    if (const size_t inode = path.find(":[");
        path.starts_with("socket") || path.starts_with("pipe"))
      path.resize(inode);
    std::string text;
    for (size_t at = 0; at < path.size();) {
      size_t digits = 0;
      while (at + digits < path.size() &&
             isdigit(static_cast<unsigned char>(path[at + digits])) != 0)
        ++digits;
      text += digits >= 3 ? "N" : path.substr(at, std::max<size_t>(digits, 1));
      at += std::max<size_t>(digits, 1);
    }
    return text;
  }
  static std::string link_of(pid_t task, const std::string& name) {
    char target[4096];
    const std::string link = "/proc/" + std::to_string(task) + "/" + name;
    const ssize_t length = readlink(link.c_str(), target, sizeof target);
    return {target, static_cast<size_t>(length < 0 ? 0 : length)};
  }
  static std::string text_at(pid_t task, uint64_t address) {
    std::string text;
    while (text.size() < 4096) {
      char bytes[64];
      const size_t count = 64 - address % 64;  // never over the end of a page
      const iovec here{bytes, count};
      const iovec there{reinterpret_cast<void*>(address), count};
      if (process_vm_readv(task, &here, 1, &there, 1, 0) != static_cast<ssize_t>(count))
        return text;
      text.append(bytes, strnlen(bytes, count));
      if (memchr(bytes, 0, count) != nullptr) break;
      address += count;
    }
    return text;
  }
  std::string file_of(pid_t task, const Call& call, const uint64_t* arguments) const;
  void begin(pid_t tid, Task& task, const __ptrace_syscall_info& info);
  void end(pid_t tid, Task& task);

  std::string directory_;
  bool interrupts_ = false;
  bool shortens_ = false;
  std::vector<Failure> failures_;
  std::map<pid_t, Task> tasks_;
  std::map<pid_t, bool> early_;  // seen before the call that made them
  std::string log_;
};

std::string Injector::file_of(pid_t task, const Call& call, const uint64_t* arguments) const {
  const int descriptor = static_cast<int>(arguments[call.argument]);
  const std::string link = "fd/" + std::to_string(descriptor);
  if (call.file == File::kNone) return "-";
  if (call.file == File::kMapping && (arguments[3] & MAP_ANONYMOUS) != 0) return "anonymous";
  if (call.file == File::kDescriptor || call.file == File::kMapping)
    return plain(link_of(task, link));
  const int path = call.argument + (call.file == File::kAt ? 1 : 0);
  const std::string name = text_at(task, arguments[path]);
  if (name.starts_with("/") || call.file == File::kName) return plain(name);
  const bool is_at = call.file == File::kAt && descriptor != AT_FDCWD;
  return plain((is_at ? link_of(task, link) : directory_) + "/" + name);
}

void Injector::begin(pid_t tid, Task& task, const __ptrace_syscall_info& info) {
  if (info.entry.nr == SYS_set_robust_list)
    task.loading = false;  // the loader's last call but a few
  const auto found = kCalls.find(info.entry.nr);
  if (task.loading || found == kCalls.end()) return;
  const Call& call = found->second;
  const auto* arguments = reinterpret_cast<const uint64_t*>(info.entry.args);
  constexpr uint64_t kBig = MAP_NORESERVE | MAP_SHARED;
  if (info.entry.nr == SYS_mmap && (arguments[3] & MAP_ANONYMOUS) != 0 &&
      (arguments[3] & kBig) == 0)
    return;
  const std::string file = file_of(tid, call, arguments);
  for (Failure& failure : failures_) {
    const bool is_there = failure.path == "*" || failure.path == file ||
                          (failure.path == "~" && file.starts_with("~/"));
    if (failure.program != task.program || failure.call != call.name || !is_there) continue;
    ++failure.seen;
    if (failure.seen >= failure.first && failure.seen <= failure.last) task.error = failure.error;
  }
  const bool is_standard = call.file == File::kDescriptor && arguments[0] <= STDERR_FILENO;
  if (interrupts_ && call.may_wait && !is_standard && file != "anon_inode:[eventfd]") {
    if (task.interrupted.erase(info.entry.nr) == 0) {
      task.interrupted.insert(info.entry.nr);
      task.error = EINTR;
    }
  }
  bool is_short = false;
  const bool is_file = file.find('/') != std::string::npos || file == "pipe";
  if (shortens_ && task.error == 0 && is_file && call.bytes >= 0 && arguments[call.bytes] > 1) {
    is_short = true;
    const uint64_t bytes = arguments[call.bytes];
    const uint64_t some = std::min<uint64_t>(bytes / 2, 4093);
    const bool by_words = file.ends_with("/pagemap");
    ptrace(PTRACE_POKEUSER, tid, offsetof(user_regs_struct, rdx),
           by_words ? std::max<uint64_t>(8, some / 8 * 8) : some);
  }
  const bool is_done = info.entry.nr == SYS_close;  // it closes, whatever it returns
  if (task.error != 0 && !is_done)
    ptrace(PTRACE_POKEUSER, tid, offsetof(user_regs_struct, orig_rax), -1L);
  log_ +=
      (task.error != 0 || is_short ? "!" : "") + task.program + " " + call.name + " " + file + "\n";
}

void Injector::end(pid_t tid, Task& task) {
  if (task.error != 0)
    ptrace(PTRACE_POKEUSER, tid, offsetof(user_regs_struct, rax), -static_cast<long>(task.error));
  task.error = 0;
}

int Injector::watch(pid_t first) {
  int result = 0;
  tasks_[first] = {};
  const auto resume = [](pid_t tid, int signal) { ptrace(PTRACE_SYSCALL, tid, 0, signal); };
  for (;;) {
    int status = 0;
    const pid_t tid = waitpid(-1, &status, __WALL);
    if (tid < 0) return result;
    if (!WIFSTOPPED(status)) {
      if (tid == first) result = status;
      tasks_.erase(tid);
      continue;
    }
    const auto found = tasks_.find(tid);
    if (found == tasks_.end()) {  // resumes once its maker has told who it is
      early_[tid] = true;
      continue;
    }
    Task& task = found->second;
    const int signal = WSTOPSIG(status);
    const int event = status >> 16;
    if (signal == (SIGTRAP | 0x80)) {
      __ptrace_syscall_info info{};
      ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof info, &info);
      if (info.op == PTRACE_SYSCALL_INFO_ENTRY) begin(tid, task, info);
      if (info.op == PTRACE_SYSCALL_INFO_EXIT) end(tid, task);
      resume(tid, 0);
    } else if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
               event == PTRACE_EVENT_CLONE) {
      unsigned long made = 0;
      ptrace(PTRACE_GETEVENTMSG, tid, 0, &made);
      const bool is_thread = event == PTRACE_EVENT_CLONE;
      tasks_[static_cast<pid_t>(made)] = {
          task.program + (is_thread ? "" : "*"), task.loading, 0, {}};
      if (early_.erase(static_cast<pid_t>(made)) != 0) resume(static_cast<pid_t>(made), 0);
      resume(tid, 0);
    } else if (event == PTRACE_EVENT_EXEC) {
      const std::string path = link_of(tid, "exe");
      tasks_[tid] = {path.substr(path.rfind('/') + 1), true, 0, {}};
      resume(tid, 0);
    } else {
      // A new task begins with SIGSTOP; nobody sends another here.
      resume(tid, signal == SIGSTOP || signal == SIGTRAP ? 0 : signal);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> faults;
  int at = 3;
  while (at < argc && strcmp(argv[at], "--") != 0) faults.emplace_back(argv[at++]);
  if (at + 1 >= argc) return 125;
  const pid_t child = fork();
  if (child == 0) {
    if (chdir(argv[1]) != 0 || ptrace(PTRACE_TRACEME, 0, 0, 0) != 0)
      _exit(124);  // 124: may not trace
    raise(SIGSTOP);
    execvp(argv[at + 1], argv + at + 1);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  ptrace(PTRACE_SETOPTIONS, child, 0,
         PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
             PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
  ptrace(PTRACE_SYSCALL, child, 0, 0);
  Injector injector(argv[1], faults);
  status = injector.watch(child);
  std::ofstream(argv[2]) << injector.log();
  if (WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    kill(getpid(), WTERMSIG(status));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}
