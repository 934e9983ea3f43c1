#include "allocators/native/worker_process.h"

#include <fcntl.h>
#include <immintrin.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/check.h"
#include "base/install_paths.h"

namespace heaptape::allocators {
namespace {

using base::Error;
using base::Result;
using base::Status;

constexpr int kSpins = 2000;
constexpr uint32_t kSliceMs = 100;  // between two checks whether the worker lives
constexpr uint32_t kEndMs = 2000;   // for the worker to exit
constexpr off_t kMostMessageBytes = 2 << 20;

constexpr char kNoMemory[] = "cannot get memory to share with the replay worker";

// Does only what a child may do between fork and exec in a process with threads.
[[noreturn]] void run_worker(const char* program, char* const* argv, char* const* envp,
                             int messages_fd, int parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  const int persona = personality(0xffffffff);
  if (persona >= 0) personality(static_cast<unsigned long>(persona) | ADDR_NO_RANDOMIZE);
  dup2(messages_fd, STDOUT_FILENO);  // ours is for tables
  dup2(messages_fd, STDERR_FILENO);
  // A tape may need more memory than there is: then the worker must be killed, not another process.
  const int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (score >= 0 && write(score, "1000", 4) == 4) close(score);
  execve(program, argv, envp);
  constexpr char kNoExec[] = "the system cannot execute heaptape-worker";
  if (write(STDERR_FILENO, kNoExec, sizeof kNoExec - 1) < 0) _exit(126);
  _exit(127);
}

// Signals that mean more here than their names say.
const char* advice_on_signal(int signal) {
  switch (signal) {
    case SIGSYS:
      return "; one of its own threads, which blocks signals, changed the address space: configure "
             "it to start none";
    case SIGKILL:
      return "; if memory ran out, --touch none needs less";
    default:
      return "";
  }
}

}  // namespace

WorkerProcess::WorkerProcess(std::string name, base::Mapping memory, base::Descriptor messages)
    : name_(std::move(name)), memory_(std::move(memory)), messages_(std::move(messages)) {}

WorkerProcess::~WorkerProcess() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
}

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(const std::string& name,
                                                            const WorkerOptions& options) {
  const base::Descriptor memory_fd(memfd_create("heaptape-worker", 0));  // the worker inherits it
  if (!memory_fd || ftruncate(memory_fd.get(), sizeof(WorkerShared)) != 0) {
    return base::os_error(kNoMemory, errno);
  }
  HEAPTAPE_ASSIGN_OR_RETURN(
      base::Mapping memory,
      base::Mapping::shared(memory_fd.get(), sizeof(WorkerShared), kNoMemory));
  base::Descriptor messages(memfd_create("heaptape-worker-messages", MFD_CLOEXEC));
  if (!messages) return base::os_error(kNoMemory, errno);
  std::unique_ptr<WorkerProcess> worker(
      new WorkerProcess(name, std::move(memory), std::move(messages)));
  WorkerShared& shared = worker->shared();
  shared.magic = kWorkerMagic;
  shared.break_phase = options.break_phase;
  shared.touch = options.touch;
  shared.answers = options.answers;
  shared.allocator_calls = options.calls;
  shared.threads = options.threads;
  shared.clock = options.clock;
  worker->patience_ms_ = options.patience_ms;
  HEAPTAPE_RETURN_IF_ERROR(worker->spawn(options, memory_fd.get()));
  HEAPTAPE_RETURN_IF_ERROR(worker->await());
  return worker;
}

Status WorkerProcess::spawn(const WorkerOptions& options, int memory_fd) {
  HEAPTAPE_ASSIGN_OR_RETURN(const std::string program, base::find_private_file("heaptape-worker"));
  if (access(program.c_str(), X_OK) != 0) {
    return base::os_error("cannot execute part of heaptape, '" + program + "'", errno);
  }
  std::vector<std::string> environment = options.environment;
  if (!options.preload.empty()) environment.push_back("LD_PRELOAD=" + options.preload);
  // No symbol is looked up within a timed call, and a missing one is reported before the first
  // call, not by a crash in it.
  environment.push_back("LD_BIND_NOW=1");
  std::vector<char*> envp;
  for (std::string& entry : environment) envp.push_back(entry.data());
  envp.push_back(nullptr);
  std::string number = std::to_string(memory_fd);
  std::string argv0 = "heaptape-worker";
  char* argv[] = {argv0.data(), number.data(), nullptr};
  const int parent = getpid();
  pid_ = fork();
  if (pid_ < 0) return base::os_error("cannot start the replay worker", errno);
  if (pid_ == 0) run_worker(program.c_str(), argv, envp.data(), messages_.get(), parent);
  return {};
}

void WorkerProcess::give(Turn turn) {
  shared().turn.store(turn, std::memory_order_release);
  syscall(SYS_futex, &shared().turn, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

Status WorkerProcess::await() {
  if (pid_ <= 0) return Error::target("the replay on '" + name_ + "' has ended");
  HEAPTAPE_RETURN_IF_ERROR(await_turn());
  trim_messages();
  if (shared().failure == WorkerFailure::kNone) return {};
  return describe_failure();
}

Status WorkerProcess::await_turn() {
  WorkerShared& shared = this->shared();
  uint32_t last_op = UINT32_MAX;
  uint32_t idle_ms = 0;  // on one op
  for (int spin = 0;; ++spin) {
    const Turn turn = shared.turn.load(std::memory_order_acquire);
    if (turn == Turn::kBackend) return {};
    if (spin < kSpins) {
      _mm_pause();
      continue;
    }
    const timespec slice{0, kSliceMs * 1'000'000};
    syscall(SYS_futex, &shared.turn, FUTEX_WAIT, turn, &slice, nullptr, 0);
    int status = 0;
    const int ended = waitpid(pid_, &status, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR)) {
      trim_messages();
      const uint32_t op = __atomic_load_n(&shared.current_op, __ATOMIC_RELAXED);
      idle_ms = op == last_op ? idle_ms + kSliceMs : 0;
      last_op = op;
      if (idle_ms < patience_ms_) continue;
      return with_messages("the replay on '" + name_ + "' hangs: one call took more than " +
                           std::to_string(patience_ms_ / 1000) + " seconds");
    }
    pid_ = -1;
    if (ended > 0) return describe_death(status);
    Error error = base::os_error(
        "the replay on '" + name_ + "' ended, and the system does not say how", errno);
    error.code = base::ErrorCode::kTarget;
    return error;
  }
}

Error WorkerProcess::describe_failure() const {
  const WorkerShared& shared = *static_cast<const WorkerShared*>(memory_.data());
  switch (shared.failure) {
    case WorkerFailure::kNoSeccomp:
      return Error{base::ErrorCode::kIo,
                   "cannot replay on '" + name_ +
                       "': the system refuses the seccomp filter through which the worker sees its "
                       "own memory calls; replay outside of this container or sandbox"};
    case WorkerFailure::kLogOverflow:
      if (shared.threads == Threads::kFree) {
        return Error::target("cannot replay on '" + name_ +
                             "': its threads made more memory calls at one time than the log "
                             "holds; use --threads ordered");
      }
      return Error::target("cannot replay on '" + name_ + "': it made more than " +
                           std::to_string(kMemoryCallsPerOp) + " memory calls in one operation");
    case WorkerFailure::kNoTouchMemory:
      return Error::target("the replay on '" + name_ +
                           "' would touch a block larger than the memory that is left; with "
                           "--touch none it needs no memory for it");
    case WorkerFailure::kNoThreads:
      return Error::target(
          "cannot replay on '" + name_ +
          "': the tape has more threads at one time than this system grants; --threads merged "
          "needs none");
    case WorkerFailure::kNone:
    case WorkerFailure::kNoSlotMemory:
      break;
  }
  return base::os_error("the replay worker has no memory for its table of blocks", ENOMEM);
}

base::Status WorkerProcess::check_alive() {
  for (uint32_t ms = 0; ms < kEndMs; ++ms) {
    int status = 0;
    if (pid_ > 0 && waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return describe_death(status);
    }
    usleep(1000);
  }
  return {};
}

void WorkerProcess::end() {
  if (pid_ < 0) return;
  give(Turn::kQuit);
  for (uint32_t ms = 0; ms < kEndMs; ++ms) {
    if (waitpid(pid_, nullptr, WNOHANG) != 0) {
      pid_ = -1;
      return;
    }
    usleep(1000);
  }
}

std::string WorkerProcess::messages(size_t limit) const {
  struct stat file = {};
  if (fstat(messages_.get(), &file) != 0) return "";
  std::string text(limit, '\0');
  const off_t from = std::max<off_t>(0, file.st_size - static_cast<off_t>(limit));
  const ssize_t got = pread(messages_.get(), text.data(), text.size(), from);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// Frees the memory of the worker's output, except the end.
void WorkerProcess::trim_messages() const {
  struct stat file = {};
  if (fstat(messages_.get(), &file) != 0) return;
  if (file.st_blocks * 512 <= kMostMessageBytes) return;
  fallocate(messages_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
            file.st_size - kMostMessageBytes / 2);
}

Error WorkerProcess::describe_death(int status) const {
  std::string how = WIFSIGNALED(status)
                        ? std::string("was killed by signal ") + std::to_string(WTERMSIG(status)) +
                              " (" + strsignal(WTERMSIG(status)) + ")" +
                              advice_on_signal(WTERMSIG(status))
                        : "exited with status " + std::to_string(WEXITSTATUS(status));
  return with_messages("the replay on '" + name_ + "' " + how);
}

Error WorkerProcess::with_messages(std::string text) const {
  std::string said = messages();
  std::ranges::replace(said, '\n', ' ');
  if (!said.empty()) text += "; it said: " + said;
  return Error::target(std::move(text));
}

}  // namespace heaptape::allocators
