#include "cli/man_page.h"

#include <sstream>
#include <string_view>

#include "base/version.h"

namespace heaptape::cli {
namespace {

constexpr char kDescription[] =
    "heaptape records every malloc call of a program to a file, the tape, replays tapes on other "
    "allocators and on models, and shows where their memory is: in live blocks, slack or holes, "
    "and which blocks keep the holes open.";

constexpr char kExitStatus[] =
    ".SH EXIT STATUS\n"
    ".TP\n.B 0\nSuccess.\n"
    ".TP\n.B 1\nA gate or an allocator failed, or verify or import found damage or losses.\n"
    ".TP\n.B 2\nAny other error: wrong usage, input that cannot be read (in part, too), output "
    "that cannot be written.\n"
    ".PP\n\\fBheaptape record\\fR exits as the recorded program does: with its status, or by its "
    "signal.\n";

// Escapes all characters that mean something to roff.
std::string plain(const std::string& text) {
  std::string roff;
  for (const char c : text) {
    switch (c) {
      case '\\':
        roff += "\\e";
        break;
      case '-':
        roff += "\\-";
        break;
      case '\'':
        roff += "\\(aq";
        break;
      case '`':
        roff += "\\(ga";
        break;
      case '^':
        roff += "\\(ha";
        break;
      case '~':
        roff += "\\(ti";
        break;
      default:
        roff += c;
    }
  }
  const bool is_request = roff.starts_with('.');
  return is_request ? "\\&" + roff : roff;
}

std::string bold(const std::string& text) {
  return "\\fB" + plain(text) + "\\fR";
}

std::string italic(const std::string& text) {
  return text.empty() ? "" : "\\fI" + plain(text) + "\\fR";
}

std::string heading(const std::string& title) {
  std::string upper = title;
  for (char& c : upper) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return ".\\\" Made by `heaptape man " + title + "`.\n.TH \"" + plain(upper) +
         "\" 1 \"\" \"heaptape " + base::kVersion + "\" \"heaptape manual\"\n";
}

std::string option_text(const OptionOutline& option) {
  std::string text = ".TP\n";
  if (option.is_argument()) {
    text += italic(option.value);
  } else {
    for (const std::string& name : option.names) {
      text += (name == option.names.front() ? "" : ", ") + bold(name);
    }
    if (!option.value.empty()) text += " " + italic(option.value);
  }
  return text + "\n" + plain(option.help) + "\n";
}

std::string options_text(const CommandOutline& command) {
  std::string arguments;
  std::string options;
  for (const OptionOutline& option : command.options) {
    (option.is_argument() ? arguments : options) += option_text(option);
  }
  return (arguments.empty() ? "" : ".SH ARGUMENTS\n" + arguments) + ".SH OPTIONS\n" + options;
}

// The text below the options of --help.
std::string footer_text(const std::string& footer) {
  if (footer.empty()) return "";
  std::string text = ".SH EXAMPLES\n.nf\n";
  std::istringstream lines(footer);
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view kLabel = "Example: ";
    text += plain(line.starts_with(kLabel) ? line.substr(kLabel.size()) : line) + "\n";
  }
  return text + ".fi\n";
}

std::string page_name(const CommandOutline& command) {
  return "heaptape-" + command.name;
}

std::string program_page(const ProgramOutline& outline) {
  std::string text =
      heading("heaptape") + ".SH NAME\nheaptape \\- record and replay malloc calls\n";
  text += ".SH SYNOPSIS\n.B heaptape\n.I COMMAND\n[\\fIARGUMENT\\fR...]\n";
  text += ".SH DESCRIPTION\n" + plain(kDescription) + "\n.SH COMMANDS\n";
  for (const CommandOutline& command : outline.commands) {
    text += ".TP\n.BR " + plain(page_name(command)) + " (1)\n" + plain(command.description) + "\n";
  }
  return text + options_text(outline.program) + kExitStatus;
}

std::string synopsis(const CommandOutline& command) {
  std::string text = ".SH SYNOPSIS\n" + bold("heaptape " + command.name) + " [\\fIOPTION\\fR...]";
  for (const OptionOutline& option : command.options) {
    if (option.takes == Takes::kCommandLine) text += " " + bold("--");
    if (option.is_argument()) text += " " + italic(option.value);
  }
  return text + "\n";
}

std::string command_page(const CommandOutline& command) {
  const std::string name = page_name(command);
  return heading(name) + ".SH NAME\n" + plain(name) + " \\- " + plain(command.description) + "\n" +
         synopsis(command) + options_text(command) + footer_text(command.footer) +
         ".SH SEE ALSO\n.BR heaptape (1)\n";
}

}  // namespace

std::vector<std::string> man_page_names(const ProgramOutline& outline) {
  std::vector<std::string> names = {"heaptape"};
  for (const CommandOutline& command : outline.commands) names.push_back(page_name(command));
  return names;
}

std::string man_page(const ProgramOutline& outline, const std::string& name) {
  for (const CommandOutline& command : outline.commands) {
    if (page_name(command) == name) return command_page(command);
  }
  return program_page(outline);
}

}  // namespace heaptape::cli
