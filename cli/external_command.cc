#include "cli/external_command.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/display_text.h"
#include "recorder/collector/elf_check.h"

namespace heaptape::cli {
namespace {

std::filesystem::path own_path() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error);  // empty if there is no /proc
}

// Searches the PATH, then this program's directory: pip puts both into the same directory, which
// need not be on the PATH.
std::optional<std::string> find_external(const std::string& name) {
  if (const auto program = recorder::find_program(name); program.ok()) return *program;
  const std::filesystem::path beside = own_path().replace_filename(name);
  std::error_code error;
  if (!std::filesystem::is_regular_file(beside, error)) return {};
  if (access(beside.c_str(), X_OK) != 0) return {};
  return beside.string();
}

// words[0] is the path of the program.
int become(const std::vector<std::string>& words, Console& console) {
  const std::filesystem::path self = own_path();
  if (!self.empty()) setenv("HEAPTAPE", self.c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execv(words.front().c_str(), arguments.data());
  return console.fail("cannot run " + base::quoted(words.front()) + ": " + std::strerror(errno));
}

}  // namespace

std::optional<Action> external_command(const std::vector<std::string>& ours,
                                       const char* const* words) {
  const std::string name = *words == nullptr ? "" : *words;
  if (name.empty() || name.starts_with('-') || name.find('/') != std::string::npos) return {};
  if (std::ranges::find(ours, name) != ours.end()) return {};
  if (const auto program = find_external("heaptape-" + name)) {
    std::vector<std::string> arguments{*program};
    for (const char* const* word = words + 1; *word != nullptr; ++word) arguments.push_back(*word);
    return [arguments](Console& console) { return become(arguments, console); };
  }
  const std::vector<std::string>& known = external_command_names();
  if (std::ranges::find(known, name) == known.end()) return {};
  return [name](Console& console) {
    return console.fail("'" + name + "' comes with the Python package, and there is no heaptape-" +
                        name + " on the PATH: install heaptape's wheel with its extra [" + name +
                        "] (docs/howto-install.md)");
  };
}

const std::vector<std::string>& external_command_names() {
  static const std::vector<std::string> names = {"sweep", "tune"};
  return names;
}

}  // namespace heaptape::cli
