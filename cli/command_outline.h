// The commands and their options, read from CLI11's own definitions. Manual pages and shell
// completions are made from it, so they cannot disagree with the program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace heaptape::cli {

enum class Takes : uint8_t { kNothing, kText, kChoice, kFile, kFolder, kCommandLine };

// An option, or an argument that has no name.
struct OptionOutline {
  std::vector<std::string> names;  // "-o", "--output"; of an argument: none
  std::string value;               // what stands for its value: "TAPE", "auto|always|never"
  std::string help;
  bool is_repeatable = false;
  Takes takes = Takes::kNothing;
  std::vector<std::string> choices = {};  // of kChoice; others may be allowed, too

  bool is_argument() const { return names.empty(); }
};

struct CommandOutline {
  std::string name;
  std::string description;
  std::string footer;  // an example, and what else is said below the options; may have lines
  std::vector<OptionOutline> options;  // the arguments among them, in their order
};

struct ProgramOutline {
  CommandOutline program;  // its own options
  std::vector<CommandOutline> commands;
};

// Of all but hidden commands.
ProgramOutline outline(const CLI::App& app);

}  // namespace heaptape::cli
