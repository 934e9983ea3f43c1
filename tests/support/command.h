// Runs programs for end-to-end tests, with a time limit, so that a test can fail but not hang.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace heaptape::tests {

// As a shell splits a line without quotes.
std::vector<std::string> words_of(const std::string& text);
// Without their ends.
std::vector<std::string> lines_of(const std::string& text);

// How a program ended, and its output.
struct Ended {
  int status = -1;  // exit status; -1 if a signal ended it
  int signal = 0;
  bool timed_out = false;  // killed by us
  std::string out;
  std::string err;
  uint64_t peak_resident_bytes = 0;  // of it or one of its children, whichever has the most

  // For messages of failed expectations.
  std::string describe() const;
};

struct CommandLine {
  std::vector<std::string> words;             // words[0] is a path or found in PATH
  std::vector<std::string> environment = {};  // NAME=VALUE, over the test's own
  std::optional<std::string> input = {};      // through a pipe, at most 64 KiB; else /dev/null
  std::string folder = {};                    // working directory; empty: the test's
  std::function<void()> before_exec = {};     // in the child
  int time_limit_seconds = 150;
};

// One program. It gets its own process group, which is killed with the object if the program did
// not end in time, and takes every signal by default, whatever the test ignores or blocks. One
// thread.
class Command {
 public:
  explicit Command(const CommandLine& line);
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  int pid() const { return pid_; }
  void send(int signal) const;
  // Its standard output so far.
  std::string output() const;
  // Waits until output() contains `text`; false if the program ends or times out first.
  bool wait_for_output(const std::string& text);
  Ended wait();

 private:
  bool wait_for_end(int milliseconds);

  int pid_ = -1;
  int pidfd_ = -1;
  int out_ = -1;
  int err_ = -1;
  int time_left_ms_;
  std::optional<Ended> ended_;
};

Ended run_command(const CommandLine& line);
Ended run_command(std::vector<std::string> words);

// Waits until `condition` holds, checking every few milliseconds; false on timeout.
bool wait_until(const std::function<bool()>& condition, int seconds = 20);

}  // namespace heaptape::tests
