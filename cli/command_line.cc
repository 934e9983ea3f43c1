#include "cli/command_line.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <memory>
#include <sstream>
#include <string>

#include "base/number_text.h"
#include "base/version.h"
#include "cli/help_text.h"
#include "cli/option_kinds.h"
#include "cli/request.h"
#include "cli/terminal_size.h"
#include "cli/wrong_words.h"

namespace heaptape::cli {
namespace {

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
