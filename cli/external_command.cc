#include "cli/external_command.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <vector>

#include "base/display_text.h"

namespace heaptape::cli {
namespace {

namespace fs = std::filesystem;

// Its path; empty if there is none. As execvp(3) searches: an empty folder is the current one.
std::string find_program(const std::string& name) {
  const char* const path = std::getenv("PATH");
  if (path == nullptr) return "";
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path program = fs::path(folder.empty() ? "." : folder) / name;
    std::error_code error;
    if (fs::is_regular_file(program, error) && access(program.c_str(), X_OK) == 0) {
      return program.string();
    }
  }
  return "";
}

int become(const std::string& program, const std::vector<std::string>& words, Console& console) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (!error) setenv("HEAPTAPE", self.c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  return console.fail("cannot run " + base::quoted(program) + ": " + std::strerror(errno));
}

}  // namespace

std::optional<Action> external_command(const std::vector<std::string>& ours,
                                       const char* const* words) {
  const std::string name = *words == nullptr ? "" : *words;
  if (name.empty() || name.starts_with('-') || name.find('/') != std::string::npos) return {};
  if (std::ranges::find(ours, name) != ours.end()) return {};
  if (const std::string program = find_program("heaptape-" + name); !program.empty()) {
    std::vector<std::string> arguments{program};
    for (const char* const* word = words + 1; *word != nullptr; ++word) arguments.push_back(*word);
    return [program, arguments](Console& console) { return become(program, arguments, console); };
  }
  if (std::ranges::find(external_command_names(), name) == external_command_names().end())
    return {};
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
