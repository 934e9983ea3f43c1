// zsh, with its completion system (compinit).
#include <string>

#include "cli/completion.h"

namespace heaptape::cli {
namespace {

std::string single_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// Escapes text for _arguments and _describe.
std::string escaped(const std::string& text, const std::string& special) {
  std::string escaped;
  for (const char c : text) {
    if (special.find(c) != std::string::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// ":what:how to complete it"; empty if there is no value.
std::string value_spec(const OptionOutline& option) {
  std::string what = ":" + escaped(option.value, "\\:[]") + ":";
  switch (option.takes) {
    case Takes::kNothing:
      return "";
    case Takes::kText:
      return what;
    case Takes::kFile:
      return what + "_files";
    case Takes::kFolder:
      return what + "_files -/";
    case Takes::kCommandLine:
      return ": :_command_names -e";
    case Takes::kChoice:
      break;
  }
  std::string words;
  for (const std::string& choice : option.choices) {
    words += (words.empty() ? "" : " ") + escaped(choice, "\\:");
  }
  return what + "(" + words + ")";
}

// One argument of _arguments for each name: a name excludes the others unless it may be repeated.
std::string option_specs(const OptionOutline& option) {
  std::string others;
  for (const std::string& name : option.names) others += (others.empty() ? "" : " ") + name;
  const std::string before = option.is_repeatable ? "*" : "(" + others + ")";
  std::string specs;
  for (const std::string& name : option.names) {
    const bool joins = option.takes != Takes::kNothing && name.starts_with("--");
    specs +=
        " \\\n        " + single_quoted(before + name + (joins ? "=" : "") + "[" +
                                        escaped(option.help, "\\:[]") + "]" + value_spec(option));
  }
  return specs;
}

std::string argument_specs(const OptionOutline& option, int number) {
  if (option.takes == Takes::kCommandLine) {
    return " \\\n        '(-)1: :_command_names -e' \\\n        '*:: :_normal'";
  }
  const std::string place = option.is_repeatable ? "*" : std::to_string(number);
  return " \\\n        " + single_quoted(place + value_spec(option));
}

std::string specs_of(const CommandOutline& command) {
  std::string specs;
  int argument = 0;
  for (const OptionOutline& option : command.options) {
    specs += option.is_argument() ? argument_specs(option, ++argument) : option_specs(option);
  }
  return specs;
}

}  // namespace

std::string zsh_completion(const ProgramOutline& outline) {
  std::string list;
  std::string cases;
  for (const CommandOutline& command : outline.commands) {
    list += "    " + single_quoted(command.name + ":" + escaped(command.description, "\\:")) + "\n";
    cases += "    " + command.name + ")\n      _arguments -S" + specs_of(command) + "\n      ;;\n";
  }
  return "#compdef heaptape\n"
         "# zsh completion of heaptape, as `heaptape completion zsh` prints it.\n\n"
         "_heaptape() {\n"
         "  local curcontext=$curcontext state line\n"
         "  local -a commands\n"
         "  typeset -A opt_args\n"
         "  commands=(\n" +
         list +
         "  )\n"
         "  _arguments -C" +
         specs_of(outline.program) +
         " \\\n        '1: :->command' \\\n        '*:: :->arguments' && return\n"
         "  if [[ $state == command ]]; then\n"
         "    _describe -t commands command commands\n"
         "    return\n"
         "  fi\n"
         "  curcontext=${curcontext%:*}-$words[1]:\n"
         "  case $words[1] in\n" +
         cases +
         "  esac\n"
         "}\n\n"
         "_heaptape \"$@\"\n";
}

}  // namespace heaptape::cli
