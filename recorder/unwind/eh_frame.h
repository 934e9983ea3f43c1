// Iterates over a section .eh_frame (Linux Standard Base, "Exception Frames"): what compilers say
// about each function so that exceptions, and stack walks, get past it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "recorder/unwind/cfa_program.h"
#include "recorder/unwind/dwarf_cursor.h"

namespace heaptape::recorder {

// A frame description entry: a function, or a part of one. `terms` last until the next call.
struct Fde {
  const CfaTerms* terms = nullptr;
  uint64_t begin = 0;
  uint64_t end = 0;  // never before begin
  DwarfCursor instructions;
};

// For a section of unknown size: the bytes up to the linker's end mark, or all of them.
std::span<const uint8_t> up_to_mark(std::span<const uint8_t> bytes);

// Untrusted bytes: entries that make no sense are skipped and counted. Takes linear time.
class EhFrame {
 public:
  // `address` is that of the first byte in the program's memory. The bytes outlive this.
  EhFrame(std::span<const uint8_t> bytes, uint64_t address);

  // The next entry for a function, in the order of the section. False after the last.
  bool next(Fde& fde);
  // Entries that next() has skipped so far.
  uint64_t unreadable() const { return unreadable_; }

 private:
  static constexpr size_t kMostCies = 1 << 16;  // linkers merge equal ones

  // A common information entry; without terms if they make no sense.
  struct Cie {
    uint64_t offset = 0;
    bool has_augmentation = false;  // so have its FDEs
    std::optional<CfaTerms> terms;
  };

  bool read_fde(DwarfCursor entry, uint64_t cie_offset, Fde& fde);
  void read_cie(DwarfCursor entry, uint64_t offset);
  const Cie* find_cie(uint64_t offset);

  DwarfCursor cursor_;
  size_t bytes_;
  CfaProgram program_;
  std::vector<Cie> cies_;  // by offset
  size_t last_cie_ = 0;    // named by an FDE
  uint64_t unreadable_ = 0;
};

}  // namespace heaptape::recorder
