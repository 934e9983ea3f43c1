// fish, from 3.0 on.
#include <string>

#include "cli/completion.h"

namespace heaptape::cli {
namespace {

std::string single_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

std::string values_of(const OptionOutline& option) {
  switch (option.takes) {
    case Takes::kNothing:
      return "";
    case Takes::kText:
      return " -x";
    case Takes::kFile:
      return " -r -F";
    case Takes::kFolder:
      return " -x -a '(__fish_complete_directories)'";
    case Takes::kCommandLine:
      return " -x -a '(__fish_complete_subcommand --fcs-skip=2)'";
    case Takes::kChoice:
      break;
  }
  std::string words;
  for (const std::string& choice : option.choices) words += (words.empty() ? "" : " ") + choice;
  return " -x -a " + single_quoted(words);
}

std::string line_of(const OptionOutline& option, const std::string& condition) {
  std::string line = "complete -c heaptape -n " + single_quoted(condition);
  if (option.is_argument()) {
    return option.takes == Takes::kFile ? line + " -F\n" : line + values_of(option) + "\n";
  }
  for (const std::string& name : option.names) {
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  return line + values_of(option) + " -d " + single_quoted(option.help) + "\n";
}

}  // namespace

std::string fish_completion(const ProgramOutline& outline) {
  std::string text =
      "# fish completion of heaptape, as `heaptape completion fish` prints it.\n\n"
      "complete -c heaptape -f\n";
  for (const OptionOutline& option : outline.program.options) {
    text += line_of(option, "__fish_use_subcommand");
  }
  for (const CommandOutline& command : outline.commands) {
    text += "\ncomplete -c heaptape -n __fish_use_subcommand -a " + command.name + " -d " +
            single_quoted(command.description) + "\n";
    for (const OptionOutline& option : command.options) {
      text += line_of(option, "__fish_seen_subcommand_from " + command.name);
    }
  }
  return text;
}

}  // namespace heaptape::cli
