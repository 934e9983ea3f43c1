// The kinds of options of commands, on top of CLI11. Only for command_line.cc and the files of
// command_groups.h.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/console.h"

namespace heaptape::cli {

// Replaces one of `names` by its index, and refuses all other text.
CLI::Validator choice_validator(const std::vector<std::string>& names);

// One of the names of `choices`, case-insensitive.
template <typename Value>
CLI::Option* add_choice(CLI::App* command, const std::string& name, Value& value,
                        const std::map<std::string, Value>& choices, const std::string& help) {
  std::vector<std::string> names;
  std::vector<Value> values;
  std::string list;
  for (const auto& [choice, meaning] : choices) {
    names.push_back(choice);
    values.push_back(meaning);
    list += (list.empty() ? "" : "|") + choice;
  }
  return command
      ->add_option_function<size_t>(
          name, [&value, values](const size_t& place) { value = values[place]; }, help)
      ->transform(choice_validator(names))
      ->option_text(list);
}

struct Bounds {
  uint64_t least = 0;
  uint64_t most = UINT64_MAX;
};

// CLI11 alone would take -1, and numbers that are too large, for the largest number.
CLI::Validator count_validator(Bounds bounds);

template <typename Count>
void add_count(CLI::App* command, const std::string& name, Count& value, Bounds bounds,
               const std::string& help) {
  command->add_option(name, value, help)->transform(count_validator(bounds))->option_text("N");
}

// Bytes, with or without a unit.
void add_size(CLI::App* command, const std::string& name, uint64_t& bytes, const std::string& help);

// A time, more than 0: "1.5s", "10m".
void add_time(CLI::App* command, const std::string& name, uint64_t& ns, const std::string& help);

// A file to write. Refuses an empty name, such as an unset variable in a script gives: the result
// would be lost.
CLI::Option* add_output(CLI::App* command, const std::string& names, std::string& path,
                        const std::string& help);

void add_tape(CLI::App* command, std::string& path);
// The same, or a manifest, and the process in it.
void add_tape_of(CLI::App* command, std::string& path, std::string& process);
void add_json(CLI::App* command, Format& format);

// The appearance of results. Every command has --color; --bytes and --wide those that print sizes
// and wide tables.
struct Looks {
  ColourChoice colours = ColourChoice::kAuto;
  bool exact_bytes = false;
  bool is_wide = false;
};
void add_looks(CLI::App* command, Looks& looks);

}  // namespace heaptape::cli
