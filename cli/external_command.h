// Commands of others: `heaptape NAME` runs the program heaptape-NAME of the PATH, as git does, or
// the one beside heaptape.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.h"

namespace heaptape::cli {

// What `words`, argv from the command on, ask for if that is none of `ours`: it becomes
// heaptape-NAME of a directory of the PATH or of its own, with the arguments that follow, and with
// this heaptape in the environment variable HEAPTAPE. Where there is no such program, it says where
// a known NAME comes from, and nothing for all others.
std::optional<Action> external_command(const std::vector<std::string>& ours,
                                       const char* const* words);

// Those that are known.
const std::vector<std::string>& external_command_names();

}  // namespace heaptape::cli
