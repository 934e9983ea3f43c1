#include "cli/command_outline.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>

#include "allocators/catalog/catalog.h"
#include "recorder/import/trace_format.h"
#include "scenarios/scenario.h"

namespace heaptape::cli {
namespace {

constexpr std::array kFiles = {"TAPE", "FILE", "OUT", "BASE.json... NEW.json", "REPORT.json"};

std::vector<std::string> allocator_words() {
  std::vector<std::string> words;
  for (const auto& entry : allocators::catalog()) {
    if (entry.name.starts_with("FAMILY")) continue;  // stands for names in the list
    words.push_back(entry.takes_path() ? entry.name.substr(0, entry.name.find("PATH"))
                                       : entry.name);
  }
  return words;
}

std::vector<std::string> scenario_words() {
  std::vector<std::string> words = {"list"};
  for (const auto& scenario : scenarios::scenarios()) words.emplace_back(scenario.name);
  return words;
}

std::vector<std::string> format_words() {
  std::vector<std::string> words = {"list"};
  for (const auto& format : recorder::trace_formats()) words.emplace_back(format.name);
  return words;
}

// "none|fp|dwarf[,depth=N]" begins with the choices.
std::vector<std::string> listed_choices(const std::string& value) {
  return CLI::detail::split(value.substr(0, value.find('[')), '|');
}

bool has_name(const CLI::Option& option, std::string_view name) {
  return std::ranges::find(option.get_lnames(), name) != option.get_lnames().end();
}

// Goes by the placeholder for the value; an unknown placeholder stands for any text.
void find_out_what_it_takes(const CLI::App& command, const CLI::Option& option,
                            OptionOutline& found) {
  std::string value = found.value;
  if (value.ends_with("...")) value.resize(value.size() - 3);
  found.is_repeatable = found.value.find("...") != std::string::npos;
  if (value.empty()) return;
  found.takes = Takes::kText;
  if (has_name(option, "allocator")) {
    found.takes = Takes::kChoice;
    found.choices = allocator_words();
  } else if (found.is_argument() && command.get_name() == "scenario") {
    found.takes = Takes::kChoice;
    found.choices = scenario_words();
  } else if (value == "FORMAT") {
    found.takes = Takes::kChoice;
    found.choices = format_words();
  } else if (value == "mark" || value.find('|') != std::string::npos) {
    found.takes = Takes::kChoice;
    found.choices = listed_choices(value);
  } else if (std::ranges::find(kFiles, value) != kFiles.end()) {
    found.takes = Takes::kFile;
  } else if (value == "DIR") {
    found.takes = Takes::kFolder;
  } else if (value == "CMD") {
    found.takes = Takes::kCommandLine;
  }
}

OptionOutline outline_of(const CLI::App& command, const CLI::Option& option) {
  OptionOutline found;
  for (const std::string& name : option.get_snames()) found.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) found.names.push_back("--" + name);
  found.value = option.get_option_text();
  found.help = option.get_description();
  find_out_what_it_takes(command, option, found);
  return found;
}

CommandOutline outline_of(const CLI::App& command) {
  CommandOutline found{command.get_name(), command.get_description(), command.get_footer(), {}};
  for (const CLI::Option* option : command.get_options()) {
    found.options.push_back(outline_of(command, *option));
  }
  return found;
}

}  // namespace

ProgramOutline outline(const CLI::App& app) {
  ProgramOutline found{outline_of(app), {}};
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) found.commands.push_back(outline_of(*command));
  }
  return found;
}

}  // namespace heaptape::cli
