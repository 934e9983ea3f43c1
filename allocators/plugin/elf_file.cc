#include "allocators/plugin/elf_file.h"

#include <elf.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

namespace heaptape::allocators {
namespace {

namespace fs = std::filesystem;

// Reads `bytes` at `offset`; false when the file does not have them.
bool read_at(std::ifstream& file, uint64_t offset, void* out, size_t bytes) {
  file.seekg(static_cast<std::streamoff>(offset));
  return static_cast<bool>(file.read(static_cast<char*>(out), static_cast<std::streamsize>(bytes)));
}

bool fits(uint64_t offset, uint64_t bytes, uint64_t file_bytes) {
  return offset <= file_bytes && bytes <= file_bytes - offset;
}

// Whether all that is to be mapped is there.
bool is_whole(std::ifstream& file, const Elf64_Ehdr& header, uint64_t file_bytes) {
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  const size_t table_bytes = segments.size() * sizeof(Elf64_Phdr);
  if (!fits(header.e_phoff, table_bytes, file_bytes)) return false;
  if (!read_at(file, header.e_phoff, segments.data(), table_bytes)) return false;
  for (const Elf64_Phdr& segment : segments) {
    if (!fits(segment.p_offset, segment.p_filesz, file_bytes)) return false;
  }
  return true;
}

}  // namespace

std::string why_no_library(const std::string& path) {
  const std::string quoted = "'" + path + "'";
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return "there is no file " + quoted;
  if (fs::is_directory(status)) return quoted + " is a directory, not a shared library";
  if (!fs::is_regular_file(status)) return quoted + " is no regular file";
  std::ifstream file(path, std::ios::binary);
  if (!file) return quoted + " cannot be read: " + std::strerror(errno);
  Elf64_Ehdr header;
  if (!read_at(file, 0, &header, sizeof header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return quoted + " is no shared library (ELF)";
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64) {
    return quoted + " is for another machine: this is 64-bit x86";
  }
  if (header.e_type != ET_DYN || header.e_phentsize != sizeof(Elf64_Phdr)) {
    return quoted + " is an ELF file, but no shared library: link it with -shared";
  }
  if (!is_whole(file, header, fs::file_size(path, error))) return quoted + " was cut short";
  return "";
}

}  // namespace heaptape::allocators
