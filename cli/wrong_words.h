// Explains a command line that CLI11 refused, and says what to type instead.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace heaptape::cli {

// One sentence, which ends with the command whose --help applies.
std::string wrong_words(const CLI::App& app, const CLI::ParseError& error);

// All commands of `app`, including hidden ones.
std::vector<std::string> command_names(const CLI::App& app);

}  // namespace heaptape::cli
