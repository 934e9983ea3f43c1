// bash, from 4.4 on; needs only the loader of the bash-completion package.
#include <string>

#include "cli/completion.h"

namespace heaptape::cli {
namespace {

// The part that does not depend on the commands. It takes words from the line itself, because bash
// splits them at ':' and '=', which occur in names here. bash expects only the part after the last
// of these in reply.
constexpr char kFunction[] = R"script(
# Completes $1. $2 is file, folder, command, or a list of the possible values.
_heaptape_reply() {
  local word=$1 takes=$2 head=
  case $takes in
    file) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    folder) mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
    command) mapfile -t COMPREPLY < <(compgen -c -- "$word"; compgen -f -- "$word") ;;
    *) mapfile -t COMPREPLY < <(compgen -W "$takes" -- "$word") ;;
  esac
  case $takes in
    file | folder | command) compopt -o filenames 2>/dev/null ;;
  esac
  [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *: ]] && compopt -o nospace 2>/dev/null
  if [[ $word == *[:=]* ]]; then
    local tail=${word##*[:=]}
    head=${word%"$tail"}
    COMPREPLY=("${COMPREPLY[@]#"$head"}")
  fi
}

_heaptape() {
  local line=${COMP_LINE:0:COMP_POINT} words word previous= command= takes i arguments=0
  COMPREPLY=()
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  word=${words[-1]}
  for ((i = 1; i < ${#words[@]} - 1; ++i)); do
    takes=$(_heaptape_takes "$command" "$previous")
    if [[ -n $previous && -n $takes ]]; then
      previous=
    elif [[ ${words[i]} == -- ]]; then
      arguments=$((arguments > 1 ? arguments : 1)) previous=
      takes=$(_heaptape_takes "$command" 1)
      [[ $takes == command && i -lt $((${#words[@]} - 2)) ]] && arguments=2
      [[ $takes == command ]] && break
    elif [[ ${words[i]} == -* ]]; then
      previous=${words[i]}
      [[ $previous == *=* ]] && previous=
    elif [[ -z $command ]]; then
      command=${words[i]} previous=
    else
      previous= arguments=$((arguments + 1))
      [[ $(_heaptape_takes "$command" 1) == command ]] && arguments=2 && break
    fi
  done
  takes=
  [[ -n $previous ]] && takes=$(_heaptape_takes "$command" "$previous")
  if [[ -n $takes ]]; then
    [[ $takes == text ]] || _heaptape_reply "$word" "$takes"
  elif ((arguments > 0)) && [[ $(_heaptape_takes "$command" 1) == command ]]; then
    _heaptape_reply "$word" "$([[ $arguments == 1 ]] && echo command || echo file)"
  elif [[ $word == --*=* ]]; then
    takes=$(_heaptape_takes "$command" "${word%%=*}")
    [[ -z $takes || $takes == text ]] && return
    if [[ $takes == file || $takes == folder ]]; then
      _heaptape_reply "${word#*=}" "$takes"
    else
      _heaptape_reply "$word" "$(printf -- "${word%%=*}=%s " $takes)"
    fi
  elif [[ $word == -* ]]; then
    _heaptape_reply "$word" "$(_heaptape_options "$command")"
  elif [[ -z $command ]]; then
    _heaptape_reply "$word" "$_heaptape_commands"
  else
    takes=$(_heaptape_takes "$command" $((arguments + 1)))
    [[ -z $takes || $takes == text ]] || _heaptape_reply "$word" "$takes"
  fi
}

complete -F _heaptape heaptape
)script";

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

std::string takes_text(const OptionOutline& option) {
  switch (option.takes) {
    case Takes::kNothing:
      return "";
    case Takes::kText:
      return "text";
    case Takes::kChoice:
      return joined(option.choices, " ");
    case Takes::kFile:
      return "file";
    case Takes::kFolder:
      return "folder";
    case Takes::kCommandLine:
      return "command";
  }
  return "";
}

// The lines of a `case` with the values of options and arguments, numbered from 1.
std::string takes_cases(const CommandOutline& command, const std::string& name) {
  std::string text;
  int argument = 0;
  for (const OptionOutline& option : command.options) {
    std::vector<std::string> patterns;
    for (const std::string& word : option.names) patterns.push_back("'" + name + " " + word + "'");
    if (option.is_argument()) {
      const std::string number = std::to_string(++argument) + "'";
      patterns.push_back("'" + name + " " + (option.is_repeatable ? "'[0-9]*" : number));
    }
    if (option.takes == Takes::kNothing) continue;
    text += "    " + joined(patterns, " | ") + ") echo '" + takes_text(option) + "' ;;\n";
  }
  return text;
}

std::string option_names(const CommandOutline& command) {
  std::vector<std::string> names;
  for (const OptionOutline& option : command.options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return joined(names, " ");
}

}  // namespace

std::string bash_completion(const ProgramOutline& outline) {
  std::vector<std::string> names;
  std::string takes = takes_cases(outline.program, "");
  std::string options = "    '') echo '" + option_names(outline.program) + "' ;;\n";
  for (const CommandOutline& command : outline.commands) {
    names.push_back(command.name);
    takes += takes_cases(command, command.name);
    options += "    " + command.name + ") echo '" + option_names(command) + "' ;;\n";
  }
  return "# bash completion of heaptape, as `heaptape completion bash` prints it.\n\n"
         "_heaptape_commands='" +
         joined(names, " ") + "'\n\n" +
         "# The value that an option or argument of a command takes: a list, or text, file, ...\n"
         "_heaptape_takes() {\n  case \"$1 $2\" in\n" +
         takes + "  esac\n}\n\n" + "_heaptape_options() {\n  case $1 in\n" + options +
         "  esac\n}\n" + kFunction;
}

}  // namespace heaptape::cli
