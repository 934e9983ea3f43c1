#include "cli/option_kinds.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "base/near_names.h"
#include "base/number_text.h"
#include "base/quantity.h"

namespace heaptape::cli {
namespace {

constexpr std::string_view kPrintSizes[] = {"diff",   "explain", "holes", "info",
                                            "record", "replay",  "stats"};
constexpr std::string_view kPrintWideTables[] = {"info", "replay", "stats"};

bool is_one_of(const std::string& name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

CLI::Validator choice_validator(const std::vector<std::string>& names) {
  const auto pick = [names](std::string& text) {
    const auto choice =
        std::ranges::find(names, CLI::detail::to_lower(text), CLI::detail::to_lower);
    if (choice == names.end()) {
      return "'" + text + "' is not one of " + CLI::detail::join(names, "|") +
             base::did_you_mean(text, names);
    }
    text = std::to_string(choice - names.begin());
    return std::string();
  };
  return {pick, ""};
}

CLI::Validator count_validator(Bounds bounds) {
  const auto pick = [bounds](std::string& text) {
    const auto count = base::parse_count(text);
    if (!count && bounds.most == UINT64_MAX) {
      return "'" + text +
             "' is not a count: type a whole number below 2^64, such as 1000, 10k or 1.5M";
    }
    if (!count || *count < bounds.least || *count > bounds.most) {
      return "'" + text + (count ? "' is out of range" : "' is not a whole number") +
             ": type one from " + base::grouped(bounds.least) + " to " + base::grouped(bounds.most);
    }
    text = std::to_string(*count);
    return std::string();
  };
  return {pick, ""};
}

void add_size(CLI::App* command, const std::string& name, uint64_t& bytes,
              const std::string& help) {
  const auto pick = [](std::string& text) {
    const auto size = base::parse_quantity(text);
    if (!size) return "'" + text + "' is not a size: type bytes, such as 4096, 64KiB or 1.5MiB";
    text = std::to_string(*size);
    return std::string();
  };
  command->add_option(name, bytes, help)->transform(CLI::Validator(pick, ""))->option_text("SIZE");
}

void add_time(CLI::App* command, const std::string& name, uint64_t& ns, const std::string& help) {
  const auto pick = [](std::string& text) {
    const auto time = base::parse_time(text);
    if (!time || *time == 0) return "'" + text + "' is not a time: type 500ms, 1.5s, 10m or 2h";
    text = std::to_string(*time);
    return std::string();
  };
  command->add_option(name, ns, help)->transform(CLI::Validator(pick, ""))->option_text("TIME");
}

CLI::Option* add_output(CLI::App* command, const std::string& names, std::string& path,
                        const std::string& help) {
  const auto refuse = [](std::string& text) -> std::string {
    if (text.empty()) return "the file name is empty: is a variable unset in the script?";
    if (text == "-") {
      return "'-' is a file name here: use /dev/stdout, or ./- for a file of that name";
    }
    return "";
  };
  return command->add_option(names, path, help)->check(CLI::Validator(refuse, ""));
}

void add_tape(CLI::App* command, std::string& path) {
  command->add_option("tape", path, "the tape")->required()->option_text("TAPE");
}

void add_tape_of(CLI::App* command, std::string& path, std::string& process) {
  command->add_option("tape", path, "the tape, or the manifest of a recording")
      ->required()
      ->option_text("TAPE");
  command
      ->add_option(
          "--process", process,
          "in a manifest: the process with this pid, or with this text in its title, "
          "program or tape's name (default: the largest, by memory of malloc as far as known)")
      ->option_text("PID|TEXT");
}

void add_json(CLI::App* command, Format& format) {
  command->add_flag_callback("--json", [&format] { format = Format::kJson; }, "print JSON");
}

void add_looks(CLI::App* command, Looks& looks) {
  add_choice<ColourChoice>(command, "--color", looks.colours,
                           {{"auto", ColourChoice::kAuto},
                            {"always", ColourChoice::kAlways},
                            {"never", ColourChoice::kNever}},
                           "color errors, notes and gates; auto: on a terminal, unless NO_COLOR is "
                           "set (default auto)");
  if (is_one_of(command->get_name(), kPrintSizes)) {
    command->add_flag("--bytes", looks.exact_bytes,
                      "print sizes to the byte: 12,582,912 B, not 12.0 MiB");
  }
  if (is_one_of(command->get_name(), kPrintWideTables)) {
    command->add_flag("--wide", looks.is_wide,
                      "print all columns of tables, even if the terminal is too narrow");
  }
}

}  // namespace heaptape::cli
