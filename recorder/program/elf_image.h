// An ELF program as the kernel and the loader see it: read from its program headers and its dynamic
// section, never from its section headers, which neither looks at.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>

#include "recorder/program/raw_file.h"

namespace heaptape::recorder {

// Trusts nothing: the file may be anything, truncated or made to mislead, and may change meanwhile.
// Unreadable data counts as missing. Each call makes a bounded number of reads. The file must
// outlive the image. One thread.
class ElfImage {
 public:
  // A name from the file. Longer ones are cut.
  static constexpr size_t kNameBytes = 128;
  using Name = char[kNameBytes];
  // Programs have some 13. If a file has more, only the first are looked at.
  static constexpr uint32_t kMaxSegments = 32;

  explicit ElfImage(const RawFile& file);

  // The only call that means something if the file is not ELF.
  bool is_elf() const { return is_elf_; }
  // 64-bit x86.
  bool is_native() const { return is_native_; }
  // The loader that a dynamically linked program asks for. False if none.
  bool read_interpreter(Name name) const;
  // The name that a shared library gives itself. False if none.
  bool read_soname(Name name) const;
  // The libraries that the program needs, by index from 0. False past the last.
  bool read_needed(uint32_t index, Name name) const;
  // Whether the dynamic symbol table defines the symbol.
  bool defines(const char* symbol) const;

 private:
  // Offsets in the file; 0 if missing.
  struct Tables {
    uint64_t strings = 0;
    uint64_t symbols = 0;
    uint64_t gnu_hash = 0;
    uint64_t hash = 0;
  };

  const Elf64_Phdr* find_segment(uint32_t type) const;
  uint64_t offset_of(uint64_t address) const;
  bool read_dynamic(int64_t tag, uint32_t index, uint64_t* value) const;
  bool read_name(uint64_t string, Name name) const;
  bool is_definition(uint64_t index, const char* symbol) const;
  bool defines_by_gnu_hash(const char* symbol) const;
  bool defines_by_hash(const char* symbol) const;

  const RawFile& file_;
  bool is_elf_ = false;
  bool is_native_ = false;
  uint32_t segment_count_ = 0;
  Elf64_Phdr segments_[kMaxSegments];  // [segment_count_]
  const Elf64_Phdr* dynamic_ = nullptr;
  Tables tables_;
};

}  // namespace heaptape::recorder
