// External commands: `heaptape NAME` runs the program heaptape-NAME on the PATH, as git does, or
// the one beside heaptape.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.h"

namespace heaptape::cli {

// `words` is argv from the command on. If `ours` lacks the command, the action executes
// heaptape-NAME from the PATH or heaptape's own directory with the remaining arguments, and sets
// the environment variable HEAPTAPE to this heaptape. If there is no such program, the action says
// where to get a known NAME; for other names there is no action.
std::optional<Action> external_command(const std::vector<std::string>& ours,
                                       const char* const* words);

// The known external commands.
const std::vector<std::string>& external_command_names();

}  // namespace heaptape::cli
