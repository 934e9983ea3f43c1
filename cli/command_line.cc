#include "cli/command_line.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/display_text.h"
#include "base/near_names.h"
#include "base/number_text.h"
#include "base/version.h"
#include "cli/external_command.h"
#include "cli/help_text.h"
#include "cli/option_kinds.h"
#include "cli/request.h"
#include "cli/terminal_size.h"

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

// Including hidden ones.
std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
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

// Explains a command line that CLI11 refused, and says what to type instead. One sentence, which
// ends with the command whose --help applies.
std::string wrong_words(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> used = app.get_subcommands();
  const CLI::App& command = used.empty() ? app : *used.front();
  const std::string name = used.empty() ? "heaptape" : "heaptape " + command.get_name();
  return reason(app, command, error) + "; see `" + name + " --help`";
}

Action with_looks(const Looks& looks, const Action& action) {
  return [looks, action](Console& console) {
    console.choose_colours(looks.colours);
    console.choose_width(looks.is_wide);
    base::set_bytes_style(looks.exact_bytes ? base::BytesStyle::kExact : base::BytesStyle::kScaled);
    return action(console);
  };
}

// Help is wrapped by wrap_help: CLI11 2.5 and later also break lines, at widths of their own.
template <typename Formatter>
std::shared_ptr<Formatter> unwrapped() {
  auto formatter = std::make_shared<Formatter>();
  if constexpr (requires { formatter->right_column_width(1); }) {
    constexpr size_t kAny = 1 << 20;
    formatter->right_column_width(kAny);
    formatter->description_paragraph_width(kAny);
    formatter->footer_paragraph_width(kAny);
  }
  formatter->label("SUBCOMMAND", "COMMAND");
  return formatter;
}

// Prints what --help or --version asked for.
Action print(const CLI::App& app, const CLI::Success& success) {
  std::ostringstream text;
  const int exit_code = app.exit(success, text);
  const auto columns = static_cast<size_t>(terminal_size(STDOUT_FILENO).columns);
  return [text = wrap_help(text.str(), columns), exit_code](Console& console) {
    console.out() << text;
    return console.finish(exit_code);
  };
}

}  // namespace

Action parse_command_line(int argc, const char* const* argv, const Program& program) {
  CLI::App app(program.description, "heaptape");
  app.formatter(unwrapped<CLI::Formatter>());
  app.set_version_flag("--version", std::string("heaptape ") + base::kVersion);
  app.require_subcommand(0, 1);  // none: Request says so, after unknown arguments
  app.footer(program.footer);
  Request request;
  for (const auto add : program.commands) add(app, request);
  Looks looks;
  add_looks(&app, looks);
  for (CLI::App* command : app.get_subcommands({})) {
    add_looks(command, looks);
    if (!command->get_group().empty()) command->group("Commands");  // else hidden
  }
  const char* const* const words = argv + std::min(argc, 1);
  if (auto action = program.other_command(command_names(app), words)) return *action;
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return print(app, success);
  } catch (const CLI::ParseError& error) {
    const std::string sentence = wrong_words(app, error);
    return with_looks(looks, [sentence](Console& console) { return console.fail(sentence); });
  }
  return with_looks(looks, request.action());
}

}  // namespace heaptape::cli
