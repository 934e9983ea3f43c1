// What an ELF file (program, shared library) says of itself, through libelf.
#pragma once

#include <cstdint>
#include <memory>

#include "base/descriptor.h"

struct Elf;  // of libelf

namespace heaptape::base {

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
  // Whether all that is to be mapped is in the file. The loader does not look, and dies.
  bool is_whole() const;

 private:
  struct Ender {
    void operator()(Elf* elf) const;
  };
  Descriptor file_;
  std::unique_ptr<Elf, Ender> elf_;  // null: libelf makes nothing of the file
};

}  // namespace heaptape::base
