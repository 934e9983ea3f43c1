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

// Decides, and leaves no notice. Between vfork and exec, too. Takes less than 8 KiB of stack.
void judge_exec(const ExecRequest& request, Verdict* verdict);

// Whether the program must not get our variables. One that defines malloc runs with them as it does
// alone, and its children can be recorded: our exec hooks are in it. One without them has none.
inline bool must_strip(const Verdict& verdict) {
  return verdict.reason != Unrecorded::kNone && verdict.reason != Unrecorded::kOwnMalloc &&
         verdict.reason != Unrecorded::kEnvironment;
}

}  // namespace heaptape::recorder
