#include "tests/support/modules.h"

#include <link.h>

#include <filesystem>

#include "tests/support/command.h"

namespace heaptape::tests {

std::vector<std::string> loaded_modules() {
  std::vector<std::string> paths = {std::filesystem::read_symlink("/proc/self/exe")};
  const auto add = [](dl_phdr_info* info, size_t, void* to) {
    const std::string path = info->dlpi_name;
    // The program has no name here, and the kernel's vDSO no file.
    if (path.starts_with('/')) static_cast<std::vector<std::string>*>(to)->push_back(path);
    return 0;
  };
  dl_iterate_phdr(add, &paths);
  return paths;
}

std::string loaded_module(const std::string& name) {
  for (const std::string& path : loaded_modules()) {
    if (std::filesystem::path(path).filename().string().starts_with(name)) return path;
  }
  return "";
}

std::string compiler_proper() {
  std::string path = run_command({"g++", "-print-prog-name=cc1plus"}).out;
  if (path.ends_with('\n')) path.pop_back();
  return path.starts_with('/') ? path : "";
}

}  // namespace heaptape::tests
