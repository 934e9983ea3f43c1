// Whether a program can be recorded, seen before it starts: looks at the file as the kernel and the
// loader will.
#pragma once

#include <fcntl.h>

#include <cstddef>

#include "recorder/ring/unrecorded.h"

namespace heaptape::recorder {

// What is about to be executed. Owns nothing.
struct ProgramStart {
  const char* path;                   // never searched for in PATH
  const char* const* argv = nullptr;  // ends in null; null: not known
  const char* preload = nullptr;      // LD_PRELOAD as the program will get it; null: none
  int folder = AT_FDCWD;              // that a relative path starts from
  bool shell_takes_text =
      false;  // a file that the kernel does not know goes to /bin/sh, as execvp does
};

struct Verdict {
  static constexpr size_t kPathBytes = 240;

  Unrecorded reason = Unrecorded::kNone;
  // The file that was judged last: the program, the interpreter of the script that it is, or what a
  // loader is told to run. Cut if longer; ends in 0.
  char path[kPathBytes];
};

// Judges the program, or the last in a chain of scripts' interpreters. A file that cannot be read,
// or is nothing that the kernel runs, passes: execution will show. Makes a few dozen raw system
// calls, allocates nothing, and takes less than 6 KiB of stack: may be called between vfork and
// exec. Any thread.
void check_program(const ProgramStart& start, Verdict* verdict);

}  // namespace heaptape::recorder
