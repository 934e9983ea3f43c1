// The one list of commands and options. CLI11, and its exceptions, stay in command_line.cc.
#pragma once

#include <functional>

namespace heaptape::cli {

// Runs what the user asked for and returns the exit code.
using Action = std::function<int()>;

// Never fails: for words that are wrong, the action says so. `--help` is printed at once.
Action parse_command_line(int argc, const char* const* argv);

}  // namespace heaptape::cli
