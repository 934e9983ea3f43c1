// Parses a command line. CLI11's exceptions stay in command_line.cc.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/console.h"

namespace CLI {
class App;
}

namespace heaptape::cli {

class Request;

// Does what the user asked for and returns the exit code.
using Action = std::function<int(Console&)>;

// A program called heaptape: main.cc has all commands, recorder_main.cc those of the recorder.
struct Program {
  std::string description;
  std::string footer;                                        // below the list of commands
  std::vector<void (*)(CLI::App&, Request&)> commands = {};  // in the order of --help
  // Called for a command that is not in `ours`; `words` is argv from there. Returns nothing if it
  // does not know the command either.
  std::optional<Action> (*other_command)(const std::vector<std::string>& ours,
                                         const char* const* words);
};

// Never fails and prints nothing: the action reports wrong arguments or prints the help.
Action parse_command_line(int argc, const char* const* argv, const Program& program);

}  // namespace heaptape::cli
