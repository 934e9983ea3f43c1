// Reads the headers of an ELF file (program, shared library), through libelf.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"

struct Elf;  // of libelf

namespace heaptape::base {

// A program header: the purpose of a part of the file.
struct ElfSegment {
  uint32_t type = 0;   // PT_*
  uint32_t flags = 0;  // PF_*
  uint64_t offset = 0;
  uint64_t address = 0;
  uint64_t file_bytes = 0;
};

// A section with bytes in the file.
struct ElfSection {
  uint64_t offset = 0;
  uint64_t address = 0;
  uint64_t bytes = 0;
};

// Trusts nothing it reads: the file may be anything, truncated or malicious. If the file is not
// ELF, only is_elf() is meaningful. One thread.
class ElfFile {
 public:
  // `file` must be open for reading.
  explicit ElfFile(Descriptor file);
  // Anything but a regular file that can be read, such as a pipe, is not ELF. Never waits.
  static ElfFile open(const std::string& path);

  bool is_elf() const;
  // 64-bit x86: runnable by this process and its children.
  bool is_native() const;
  // Has the type of shared libraries, which position-independent programs also have.
  bool is_shared_object() const;
  // Whether all headers and all parts to be mapped are in the file. The loader does not check, and
  // crashes.
  bool is_whole() const;
  // In the order of the file; empty if they cannot be read.
  std::vector<ElfSegment> segments() const;
  // The first with this name. Files may have no sections.
  std::optional<ElfSection> section(const char* name) const;
  // That part of the file, as far as it exists. Takes no more memory than the file has bytes.
  std::vector<uint8_t> read(uint64_t offset, uint64_t bytes) const;
  // The beginning of the first section of this name; empty if there is none.
  std::vector<uint8_t> read_section(const char* name, uint64_t most_bytes) const;

 private:
  struct Ender {
    void operator()(Elf* elf) const;
  };
  Descriptor file_;
  std::unique_ptr<Elf, Ender> elf_;  // null if libelf cannot read the file
};

}  // namespace heaptape::base
