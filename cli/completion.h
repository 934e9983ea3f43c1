// Shell completions: `heaptape completion SHELL`.
#pragma once

#include <string>

#include "cli/command_outline.h"

namespace heaptape::cli {

// A script that the shell reads when it first completes `heaptape`. Each completes commands,
// options, their values, and file names.
std::string bash_completion(const ProgramOutline& outline);
std::string zsh_completion(const ProgramOutline& outline);
std::string fish_completion(const ProgramOutline& outline);

}  // namespace heaptape::cli
