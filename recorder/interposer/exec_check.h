// What happens to a program that a recorded process executes: recorded, or run as if heaptape were
// not there.
#pragma once

#include <optional>

#include "recorder/interposer/environment.h"
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

// Whether the program gets another environment than its caller asks for, and which. One that must
// not have our variables gets none; one that can be recorded has our library first. One that
// defines malloc runs with them as it does alone, and its children can be recorded: our exec hooks
// are in it.
std::optional<Ours> must_rewrite(const ExecRequest& request, const Verdict& verdict);

}  // namespace heaptape::recorder
