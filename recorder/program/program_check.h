// Decides whether a program can be recorded before it starts, looking at the file as the kernel and
// the loader will.
#pragma once

#include <fcntl.h>

#include <cstddef>

#include "recorder/ring/unrecorded.h"

namespace heaptape::recorder {

// A program about to be executed. Owns nothing.
struct ProgramStart {
  const char* path;                   // never searched for in PATH
  const char* const* argv = nullptr;  // ends in null; null if unknown
  const char* preload = nullptr;      // LD_PRELOAD as the program will get it; null if none
  int folder = AT_FDCWD;              // base of relative paths
  bool shell_takes_text =
      false;  // like execvp, gives a file that the kernel does not know to /bin/sh
};

struct Verdict {
  static constexpr size_t kPathBytes = 240;

  Unrecorded reason = Unrecorded::kNone;
  // The last file judged: the program, the interpreter of a script, or the program that a loader is
  // told to run. Cut if longer; ends in 0.
  char path[kPathBytes];
};

// Judges the program, or the last in a chain of scripts' interpreters. A file that cannot be read,
// or that the kernel cannot run, passes: execution will show. Makes a few dozen raw system calls,
// allocates nothing, and takes less than 6 KiB of stack: may be called between vfork and exec. Any
// thread.
void check_program(const ProgramStart& start, Verdict* verdict);

}  // namespace heaptape::recorder
