// The common part of the main functions.
#pragma once

#include "cli/command_line.h"

namespace heaptape::cli {

// Keeps files off the standard descriptors, runs the command line, and reports running out of
// memory. Returns the exit code.
int run_program(int argc, const char* const* argv, const Program& program);

}  // namespace heaptape::cli
