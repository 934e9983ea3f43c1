// Runs the programs of this build as a user would.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace heaptape::tests {

std::string heaptape_path();
// A program or library out of tests/e2e/targets.
std::string target_path(const std::string& name);

struct Command {
  std::vector<std::string> words;
  std::vector<std::string> environment;  // NAME=VALUE, added to that of the test
  std::string output;                    // file for standard output; empty: see Outcome::out
  std::function<void()> before_exec;     // in the child; may only make system calls
};

struct Outcome {
  int exit_code = -1;  // -1: a signal ended it
  int signal = 0;
  std::string out;
  std::string err;
  uint64_t peak_resident_bytes = 0;
};

// Waits for the end of the command; SIGALRM ends one that hangs. With "heaptape" for its first word
// it is the one of this build.
Outcome run(const Command& command);
Outcome run(std::vector<std::string> words);

// Expects exit code 2, nothing on standard output, and one line "heaptape: ..." with `part` in it
// on standard error.
void expect_refusal(const Outcome& outcome, const std::string& part);

}  // namespace heaptape::tests
