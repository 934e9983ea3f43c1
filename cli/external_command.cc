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

// Of `words` the first is the path of the program.
int become(const std::vector<std::string>& words, Console& console) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) setenv("HEAPTAPE", self.c_str(), 1);
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
  if (const auto program = recorder::find_program("heaptape-" + name); program.ok()) {
    std::vector<std::string> arguments{*program};
    for (const char* const* word = words + 1; *word != nullptr; ++word) arguments.push_back(*word);
    return [arguments](Console& console) { return become(arguments, console); };
  }
  const std::vector<std::string>& known = external_command_names();
  if (std::ranges::find(known, name) == known.end()) return {};
  return [name](Console& console) {
    return console.fail("'" + name + "' comes with the Python package, and there is no heaptape-" +
                        name + " on the PATH: pip install './python[" + name +
                        "]', see docs/python.md");
  };
}

const std::vector<std::string>& external_command_names() {
  static const std::vector<std::string> names = {"sweep", "tune"};
  return names;
}

}  // namespace heaptape::cli
