// Decides whether a program that a recorded process executes is recorded, or runs as if heaptape
// were not there.
#pragma once

#include <optional>

#include "recorder/interposer/environment.h"
#include "recorder/program/program_check.h"

namespace heaptape::recorder {

// An exec, as its caller requests it. Owns nothing.
struct ExecRequest {
  const char* path;
  char* const* argv;
  char* const* environment;  // may be null, as for the kernel
  int folder = AT_FDCWD;
  bool searches = false;  // like execvp: in PATH, and files that are not programs go to the shell
};

// Decides, and posts no notice. Safe between vfork and exec. Takes less than 8 KiB of stack.
void judge_exec(const ExecRequest& request, Verdict* verdict);

// Whether the program gets an environment other than its caller's, and which. One that must not
// have our variables gets none; one that can be recorded has our library first. One that defines
// malloc runs with them as it does alone, and its children can be recorded: our exec hooks are in
// it.
std::optional<Ours> must_rewrite(const ExecRequest& request, const Verdict& verdict);

}  // namespace heaptape::recorder
