#include "tests/support/programs.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "schema/check.h"

extern char** environ;

namespace heaptape::tests {
namespace {

constexpr unsigned kHangSeconds = 120;

// The folder of this test program: tests/ of the build tree.
std::filesystem::path tests_folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

int output_file(const std::string& path) {
  const int fd = path.empty() ? memfd_create("output", MFD_CLOEXEC)
                              : open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  HEAPTAPE_CHECK(fd >= 0);
  return fd;
}

std::string contents(int fd) {
  std::string text;
  char buffer[1 << 16];
  off_t at = 0;
  for (ssize_t got; (got = pread(fd, buffer, sizeof buffer, at)) > 0; at += got) {
    text.append(buffer, static_cast<size_t>(got));
  }
  close(fd);
  return text;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  return result;
}

[[noreturn]] void become(const Command& command, char* const* argv, char* const* envp, int out,
                         int err) {
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  alarm(kHangSeconds);
  if (command.before_exec) command.before_exec();
  execvpe(argv[0], argv, envp);
  _exit(126);
}

}  // namespace

std::string heaptape_path() {
  return (tests_folder().parent_path() / "bin" / "heaptape").string();
}

std::string target_path(const std::string& name) {
  return (tests_folder() / "targets" / name).string();
}

Outcome run(const Command& command) {
  std::vector<std::string> words = command.words;
  if (words[0] == "heaptape") words[0] = heaptape_path();
  std::vector<std::string> added = command.environment;
  std::vector<char*> argv = pointers(words);
  argv.push_back(nullptr);
  std::vector<char*> envp = pointers(added);
  for (char** entry = environ; *entry != nullptr; ++entry) envp.push_back(*entry);
  envp.push_back(nullptr);
  const int out = output_file(command.output);
  const int err = output_file("");
  const pid_t child = fork();
  HEAPTAPE_CHECK(child >= 0);
  if (child == 0) become(command, argv.data(), envp.data(), out, err);
  int status = 0;
  rusage usage{};
  HEAPTAPE_CHECK(wait4(child, &status, 0, &usage) == child);
  Outcome outcome;
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  outcome.out = command.output.empty() ? contents(out) : (close(out), "");
  outcome.err = contents(err);
  outcome.peak_resident_bytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
  return outcome;
}

Outcome run(std::vector<std::string> words) {
  return run(Command{std::move(words), {}, "", nullptr});
}

void expect_refusal(const Outcome& outcome, const std::string& part) {
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(outcome.err.starts_with("heaptape: ")) << outcome.err;
  EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << "one sentence: " << outcome.err;
}

}  // namespace heaptape::tests
