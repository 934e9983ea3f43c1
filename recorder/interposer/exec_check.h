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

// Whether the program gets an environment other than its caller's, and which. A program that must
// not have our variables gets none of them; one that can be recorded gets our library first. A
// program that defines malloc keeps them: it runs as it does alone, and our exec hooks in it let
// its children be recorded.
std::optional<Ours> must_rewrite(const ExecRequest& request, const Verdict& verdict);

}  // namespace heaptape::recorder
