#include "tests/support/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <iterator>
#include <map>
#include <sstream>

#include "base/check.h"

namespace heaptape::tests {
namespace {

constexpr int kSliceMs = 5;
constexpr size_t kMaxInputBytes = 64 << 10;  // the capacity of a pipe without a reader

std::string content_of(int fd) {
  std::string content;
  char buffer[1 << 14];
  for (ssize_t got;
       (got = pread(fd, buffer, sizeof buffer, static_cast<off_t>(content.size()))) > 0;) {
    content.append(buffer, static_cast<size_t>(got));
  }
  return content;
}

// Processes that write at the same time overwrite nothing of each other: unlike that of other
// files, the position in one of memfd_create(2) has no lock.
int create_output(const char* name) {
  const int file = memfd_create(name, MFD_CLOEXEC);
  HEAPTAPE_CHECK(file >= 0 && fcntl(file, F_SETFL, O_APPEND) == 0);
  return file;
}

int open_input(const std::optional<std::string>& input) {
  if (!input) return open("/dev/null", O_RDONLY | O_CLOEXEC);
  HEAPTAPE_CHECK(input->size() <= kMaxInputBytes);
  int ends[2];
  HEAPTAPE_CHECK(pipe2(ends, O_CLOEXEC) == 0);
  HEAPTAPE_CHECK(write(ends[1], input->data(), input->size()) ==
                 static_cast<ssize_t>(input->size()));
  close(ends[1]);
  return ends[0];
}

std::vector<std::string> environment_with(const std::vector<std::string>& additions) {
  std::map<std::string, std::string> entries;
  const auto put = [&entries](const std::string& entry) {
    entries[entry.substr(0, entry.find('='))] = entry;
  };
  for (char** entry = environ; *entry != nullptr; ++entry) put(*entry);
  for (const std::string& entry : additions) put(entry);
  std::vector<std::string> environment;
  for (const auto& [name, entry] : entries) environment.push_back(entry);
  return environment;
}

// Signals ignored or blocked by the tests' caller (nohup, a build server) must not affect programs.
void take_signals_as_they_come() {
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

std::vector<char*> as_pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string Ended::describe() const {
  std::string text =
      timed_out ? "did not end in time" : "ended with status " + std::to_string(status);
  if (signal != 0) text += ", signal " + std::to_string(signal);
  return text + "\n--- stdout\n" + out.substr(0, 4000) + "\n--- stderr\n" + err.substr(0, 4000);
}

Command::Command(const CommandLine& line)
    : out_(create_output("stdout")),
      err_(create_output("stderr")),
      time_left_ms_(line.time_limit_seconds * 1000) {
  std::vector<std::string> words = line.words;
  std::vector<std::string> environment = environment_with(line.environment);
  const std::vector<char*> argv = as_pointers(words);
  const std::vector<char*> envp = as_pointers(environment);
  const int input = open_input(line.input);
  pid_ = fork();
  HEAPTAPE_CHECK(pid_ >= 0);
  if (pid_ == 0) {
    setpgid(0, 0);
    take_signals_as_they_come();
    dup2(input, STDIN_FILENO);
    dup2(out_, STDOUT_FILENO);
    dup2(err_, STDERR_FILENO);
    if (!line.folder.empty() && chdir(line.folder.c_str()) != 0) _exit(126);
    if (line.before_exec) line.before_exec();
    execvpe(argv[0], argv.data(), envp.data());
    dprintf(STDERR_FILENO, "cannot run %s: %s\n", argv[0], strerror(errno));
    _exit(127);
  }
  setpgid(pid_, pid_);
  close(input);
  pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  HEAPTAPE_CHECK(pidfd_ >= 0);
}

Command::~Command() {
  if (!ended_) {
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(pidfd_);
  close(out_);
  close(err_);
}

void Command::send(int signal) const {
  kill(pid_, signal);
}

std::string Command::output() const {
  return content_of(out_);
}

bool Command::wait_for_end(int milliseconds) {
  pollfd wait{pidfd_, POLLIN, 0};
  return poll(&wait, 1, milliseconds) == 1;
}

bool Command::wait_for_output(const std::string& text) {
  while (output().find(text) == std::string::npos) {
    if (wait_for_end(kSliceMs)) return output().find(text) != std::string::npos;
    if ((time_left_ms_ -= kSliceMs) <= 0) return false;
  }
  return true;
}

Ended Command::wait() {
  if (ended_) return *ended_;
  Ended ended;
  ended.timed_out = !wait_for_end(time_left_ms_);
  if (ended.timed_out) kill(-pid_, SIGKILL);
  int status = 0;
  rusage usage{};
  wait4(pid_, &status, 0, &usage);
  ended.peak_resident_bytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
  if (WIFEXITED(status)) ended.status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  ended.out = output();
  ended.err = content_of(err_);
  ended_ = ended;
  return ended;
}

Ended run_command(const CommandLine& line) {
  return Command(line).wait();
}

Ended run_command(std::vector<std::string> words) {
  return run_command(CommandLine{.words = std::move(words)});
}

bool wait_until(const std::function<bool()>& condition, int seconds) {
  for (int waited_ms = 0; waited_ms < seconds * 1000; waited_ms += kSliceMs) {
    if (condition()) return true;
    poll(nullptr, 0, kSliceMs);
  }
  return condition();
}

}  // namespace heaptape::tests
