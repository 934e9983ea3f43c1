// What is wrong with a command line that CLI11 refused, and what to type instead.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace heaptape::cli {

// One sentence, which ends with the command whose --help has the right words.
std::string wrong_words(const CLI::App& app, const CLI::ParseError& error);

// Of all commands of `app`, the hidden ones too.
std::vector<std::string> command_names(const CLI::App& app);

}  // namespace heaptape::cli
