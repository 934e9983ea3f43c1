#include "allocators/plugin/library_check.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/elf_file.h"

namespace heaptape::allocators {

namespace fs = std::filesystem;

std::string why_no_library(const std::string& path) {
  const std::string quoted = "'" + path + "'";
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return "there is no file " + quoted;
  if (fs::is_directory(status)) return quoted + " is a directory, not a shared library";
  if (!fs::is_regular_file(status)) return quoted + " is not a regular file";
  base::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return quoted + " cannot be read: " + std::strerror(errno);
  const base::ElfFile elf(std::move(file));
  if (!elf.is_elf()) return quoted + " is not a shared library (ELF)";
  if (!elf.is_native()) return quoted + " is for another machine: this is 64-bit x86";
  if (!elf.is_shared_object()) {
    return quoted + " is an ELF file, but not a shared library: link it with -shared";
  }
  if (!elf.is_whole()) return quoted + " was cut short";
  return "";
}

}  // namespace heaptape::allocators
