// What an ELF file (program, shared library) says of itself, through libelf.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/descriptor.h"

struct Elf;  // of libelf

namespace heaptape::base {

// A program header: what a part of the file is for.
struct ElfSegment {
  uint32_t type = 0;   // PT_*
  uint32_t flags = 0;  // PF_*
  uint64_t offset = 0;
  uint64_t address = 0;
  uint64_t file_bytes = 0;
};

// A section that has bytes in the file.
struct ElfSection {
  uint64_t offset = 0;
  uint64_t address = 0;
  uint64_t bytes = 0;
};

// Reads, and trusts nothing: the file may be anything, cut short or made to mislead. Only is_elf()
// means something of a file that is not ELF. One thread.
class ElfFile {
 public:
  // `file` is open for reading.
  explicit ElfFile(Descriptor file);

  bool is_elf() const;
  // 64-bit x86: what this process and its children can run.
  bool is_native() const;
  // Of the type of shared libraries, which position-independent programs have, too.
  bool is_shared_object() const;
  // Whether the file has all its headers, and all that is to be mapped. The loader does not look,
  // and dies.
  bool is_whole() const;
  // In the order of the file; empty if they cannot be read.
  std::vector<ElfSegment> segments() const;
  // The first one of this name. Files may have no sections.
  std::optional<ElfSection> section(const char* name) const;
  // That part of the file, or what there is of it. No more memory than the file has bytes.
  std::vector<uint8_t> read(uint64_t offset, uint64_t bytes) const;

 private:
  struct Ender {
    void operator()(Elf* elf) const;
  };
  Descriptor file_;
  std::unique_ptr<Elf, Ender> elf_;  // null: libelf makes nothing of the file
};

}  // namespace heaptape::base
