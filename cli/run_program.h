// The part that the main functions share.
#pragma once

#include "cli/command_line.h"

namespace heaptape::cli {

// Keeps the standard descriptors free of files, does what the command line asks for, and says so
// when memory runs out. Returns the exit code.
int run_program(int argc, const char* const* argv, const Program& program);

}  // namespace heaptape::cli
