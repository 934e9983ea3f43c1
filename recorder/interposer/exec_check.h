// What happens to a program that a recorded process executes: recorded, or run as if heaptape were
// not there.
#pragma once

#include "recorder/program/program_check.h"

namespace heaptape::recorder {

// An exec, as its caller asks for it. Owns nothing.
struct ExecRequest {
  const char* path;
  char* const* argv;
  char* const* environment;  // may be null, as for the kernel
  int folder = AT_FDCWD;
  bool searches = false;  // as execvp does: in PATH, and what is no program goes to the shell
};

// Decides. A verdict of kEnvironment: without our variables, by the caller's will; nothing is to be
// done. Any other reason: the program must not get our variables. Leaves no notice. Between vfork
// and exec, too. Takes less than 8 KiB of stack.
void judge_exec(const ExecRequest& request, Verdict* verdict);

inline bool must_strip(const Verdict& verdict) {
  return verdict.reason != Unrecorded::kNone && verdict.reason != Unrecorded::kEnvironment;
}

}  // namespace heaptape::recorder
