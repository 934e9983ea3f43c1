// The one list of commands and options. CLI11's exceptions stay in command_line.cc.
#pragma once

#include <functional>

#include "cli/console.h"

namespace heaptape::cli {

// Does what the user asked for and returns the exit code.
using Action = std::function<int(Console&)>;

// Never fails and prints nothing: where the words are wrong, or ask for help, the action says so.
Action parse_command_line(int argc, const char* const* argv);

}  // namespace heaptape::cli
