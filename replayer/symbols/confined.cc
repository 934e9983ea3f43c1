#include "replayer/symbols/confined.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <span>

#include "base/descriptor.h"

namespace heaptape::replayer {
namespace {

constexpr int kOutOfMemory = 100;  // exit status
constexpr rlim_t kMostResultBytes = rlim_t{2} << 30;

// This process's address space in bytes; it counts in RLIMIT_AS.
uint64_t address_space_bytes() {
  unsigned long pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  if (std::fscanf(file, "%lu", &pages) != 1) pages = 0;
  std::fclose(file);
  return uint64_t{pages} * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

void set_limit(__rlimit_resource resource, rlim_t most) {
  rlimit limit = {};
  getrlimit(resource, &limit);
  limit.rlim_cur = std::min(most, limit.rlim_max);
  setrlimit(resource, &limit);
}

void confine(const Confinement& limits, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // the parent died before that
  prctl(PR_SET_DUMPABLE, 0);
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, standard);
  set_limit(RLIMIT_AS, address_space_bytes() + limits.memory_bytes);
  set_limit(RLIMIT_FSIZE, kMostResultBytes);
  for (int number = 1; number < SIGRTMIN; ++number) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  alarm(limits.seconds);
}

bool write_all(int file, std::span<const uint64_t> words) {
  auto bytes = std::as_bytes(words);
  while (!bytes.empty()) {
    const ssize_t count = write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return true;
}

// Any other exception also ends this process, and never unwinds the stack it was forked with.
[[noreturn]] void run_and_exit(const std::function<std::vector<uint64_t>()>& work,
                               int result) noexcept {
  try {
    _exit(write_all(result, work()) ? 0 : 1);
  } catch (const std::bad_alloc&) {
    _exit(kOutOfMemory);
  }
}

base::Error ending(int status, const Confinement& limits) {
  const auto error = [](std::string clause) { return base::Error::target(std::move(clause)); };
  if (WIFEXITED(status) && WEXITSTATUS(status) == kOutOfMemory) {
    return error("it takes more than " + std::to_string(limits.memory_bytes >> 20) +
                 " MiB of memory");
  }
  if (!WIFSIGNALED(status)) return error("it failed");
  if (WTERMSIG(status) == SIGALRM) {
    return error("it takes more than " + std::to_string(limits.seconds) + " seconds");
  }
  return error(std::string("it crashed (") + strsignal(WTERMSIG(status)) + ")");
}

base::Result<std::vector<uint64_t>> read_words(int file) {
  struct stat info{};
  if (fstat(file, &info) != 0) return base::os_error("its result cannot be read", errno);
  std::vector<uint64_t> words(static_cast<size_t>(info.st_size) / sizeof(uint64_t));
  auto bytes = std::as_writable_bytes(std::span(words));
  for (off_t offset = 0; !bytes.empty();) {
    const ssize_t count = pread(file, bytes.data(), bytes.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return base::os_error("its result cannot be read", errno);
    bytes = bytes.subspan(static_cast<size_t>(count));
    offset += count;
  }
  return words;
}

}  // namespace

base::Result<std::vector<uint64_t>> run_confined(
    const Confinement& limits, const std::function<std::vector<uint64_t>()>& work) {
  const base::Descriptor result(memfd_create("heaptape-symbols", MFD_CLOEXEC));
  if (!result) return base::os_error("it has nowhere to put its result", errno);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return base::os_error("it cannot be started", errno);
  if (child == 0) {
    confine(limits, parent);
    run_and_exit(work, result.get());
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return base::os_error("it cannot be waited for", errno);
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return ending(status, limits);
  return read_words(result.get());
}

}  // namespace heaptape::replayer
