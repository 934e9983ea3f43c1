#include "cli/wrong_words.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "base/display_text.h"
#include "base/near_names.h"
#include "cli/external_command.h"

namespace heaptape::cli {
namespace {

using CLI::ExitCodes;

bool is(const CLI::ParseError& error, ExitCodes code) {
  return error.get_exit_code() == static_cast<int>(code);
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string no_such_command(const CLI::App& app, const std::string& word) {
  std::error_code error;
  if (std::filesystem::is_regular_file(word, error)) {
    return "'" + word + "' is a file, not a command: for a tape, type heaptape info " +
           base::command_text({word});
  }
  std::vector<std::string> names = command_names(app);
  names.insert(names.end(), external_command_names().begin(), external_command_names().end());
  return "there is no command '" + word + "'" + base::did_you_mean(word, names);
}

// `word` may be "--name=value".
std::string no_such_option(const CLI::App& command, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  const bool is_long = name.starts_with("--");  // a single letter is close to every other
  return "there is no option '" + name + "'" +
         (is_long ? base::did_you_mean(name, option_names(command)) : "");
}

std::string one_too_many(const CLI::App& command, const std::string& word) {
  std::string sentence = "unexpected argument '" + word + "'";
  const auto takes = [&command](const char* name) {
    return command.get_option_no_throw(name) != nullptr;
  };
  if (!takes("tape")) return sentence;
  return sentence + ": " + command.get_name() + " takes one tape" +
         (takes("--allocator") ? ", and allocators after -a" : "");
}

// Rewords "--allocator: 1 required SPEC missing", or "--allocator: At Most 1 required but received
// 2".
std::string wrong_number(const std::string& what) {
  const size_t colon = what.find(':');
  if (colon == std::string::npos) return what;
  const bool are_too_many = what.find("but received", colon) != std::string::npos;
  return "'" + what.substr(0, colon) + "' " +
         (are_too_many ? "is given more than once" : "lacks its value");
}

std::string reason(const CLI::App& app, const CLI::App& command, const CLI::ParseError& error) {
  const bool is_missing = is(error, ExitCodes::RequiredError);
  if (is(error, ExitCodes::ArgumentMismatch)) return wrong_number(error.what());
  if (!is_missing && !is(error, ExitCodes::ExtrasError)) return error.what();
  const std::vector<std::string> extras = app.remaining(true);
  const auto option = std::ranges::find_if(
      extras, [](const std::string& word) { return word.starts_with('-') && word != "--"; });
  // First: a missing argument may be the value of a misspelt option.
  if (option != extras.end()) return no_such_option(command, *option);
  if (is_missing || extras.empty()) return error.what();
  if (&command == &app) {
    return no_such_command(app, extras.front());
  }
  return one_too_many(command, extras.front());
}

}  // namespace

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::string wrong_words(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> used = app.get_subcommands();
  const CLI::App& command = used.empty() ? app : *used.front();
  const std::string name = used.empty() ? "heaptape" : "heaptape " + command.get_name();
  return reason(app, command, error) + "; see `" + name + " --help`";
}

}  // namespace heaptape::cli
