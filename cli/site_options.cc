#include "cli/site_options.h"

#include <filesystem>
#include <system_error>

#include "base/display_text.h"

namespace heaptape::cli {
namespace {

// Without this, missing debug information would go unnoticed.
std::string refuse_no_folder(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return "";
  const bool is_there = std::filesystem::exists(path, error);
  return is_there ? base::quoted(path) + " is not a directory"
                  : "there is no directory " + base::quoted(path);
}

void add_hide(CLI::App* command, std::vector<std::string>& hide) {
  command
      ->add_option("--hide", hide, "omit frames whose function or module matches; may be repeated")
      ->allow_extra_args(false)
      ->option_text("REGEX...");
}

}  // namespace

void add_site_filters(CLI::App* command, replayer::SiteFilters& filters) {
  add_hide(command, filters.hide);
  command->add_option("--only", filters.only, "keep only stacks whose site matches: site~REGEX")
      ->option_text("FILTER");
}

void add_symbols(CLI::App* command, replayer::SymbolOptions& symbols) {
  command
      ->add_option("--debug-dir", symbols.debug_dirs,
                   "a directory of debug files like /usr/lib/debug; may be repeated")
      ->allow_extra_args(false)
      ->check(CLI::Validator(refuse_no_folder, ""))
      ->option_text("DIR...");
  command->add_flag("--debuginfod", symbols.debuginfod,
                    "ask the servers in $DEBUGINFOD_URLS for missing debug files");
}

}  // namespace heaptape::cli
