// The commands and their options, read from CLI11's own definitions. Manual pages and shell
// completions come from it, so they cannot disagree with the program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace heaptape::cli {

enum class Takes : uint8_t { kNothing, kText, kChoice, kFile, kFolder, kCommandLine };

// An option, or a positional argument.
struct OptionOutline {
  std::vector<std::string> names;  // "-o", "--output"; none for a positional argument
  std::string value;               // its placeholder: "TAPE", "auto|always|never"
  std::string help;
  bool is_repeatable = false;
  Takes takes = Takes::kNothing;
  std::vector<std::string> choices = {};  // for kChoice; others may be allowed

  bool is_argument() const { return names.empty(); }
};

struct CommandOutline {
  std::string name;
  std::string description;
  std::string footer;  // an example and notes below the options; may have several lines
  std::vector<OptionOutline> options;  // in order, positional arguments included
};

struct ProgramOutline {
  CommandOutline program;  // its own options
  std::vector<CommandOutline> commands;
};

// Omits hidden commands.
ProgramOutline outline(const CLI::App& app);

}  // namespace heaptape::cli
