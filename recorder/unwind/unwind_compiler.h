// Compiles a program's or library's description of its code, .eh_frame, into tables that recorded
// processes read: unwind_table.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "recorder/unwind/cfa_state.h"
#include "recorder/unwind/unwind_table.h"

namespace heaptape::recorder {

// Code as in a program header: /proc/PID/maps shows `file_offset`, rounded down to a page.
struct CodeSegment {
  uint64_t file_offset = 0;
  uint64_t address = 0;  // where the file wants it; its pointers assume that
  uint64_t bytes = 0;    // in the file
};

struct CompiledTable {
  CodeSegment segment;
  std::vector<uint64_t> memory;  // the table; offsets of code count from segment.address

  const UnwindTable& table() const { return *reinterpret_cast<const UnwindTable*>(memory.data()); }
};

// For all tables of a file.
struct UnwindCounts {
  uint64_t rows = 0;
  uint64_t rows_without_rule = 0;
  uint64_t functions = 0;                                // accepted entries of .eh_frame
  uint64_t unreadable = 0;                               // entries that make no sense
  uint64_t misplaced = 0;                                // entries outside code
  std::array<uint64_t, kNoRuleReasons> code_bytes = {};  // by NoRule; overlaps count twice
};

struct UnwindTables {
  std::vector<CompiledTable> tables;  // of each segment of code
  std::vector<uint8_t> build_id;      // empty if the file has none
  UnwindCounts counts;
  bool has_unread_code = false;  // more lacks information than the limits let it read
};

inline constexpr uint64_t kMostEhFrameBytes = uint64_t{64} << 20;  // above anything real
inline constexpr uint64_t kMostCodeBytes = uint64_t{16} << 20;

// Limits on reading a file.
struct CompileLimits {
  uint64_t eh_frame_bytes = kMostEhFrameBytes;
  uint64_t code_bytes = kMostCodeBytes;  // that .eh_frame does not cover
};

// Some bytes of a segment, from an offset in it on; fewer, or none, if they cannot be read.
using ReadCode = std::function<std::vector<uint8_t>(const CodeSegment& segment, uint64_t offset,
                                                    uint64_t bytes)>;

// `eh_frame` is untrusted, with its first byte at `address`. `read_code`, if any, is called for
// long stretches without information, and for no more than `most_code_bytes` in all.
UnwindTables compile_eh_frame(std::span<const uint8_t> eh_frame, uint64_t address,
                              std::span<const CodeSegment> segments, const ReadCode& read_code = {},
                              uint64_t most_code_bytes = kMostCodeBytes);

// `file` is a program or library for this machine, open for reading; else an error that does not
// name it. One without .eh_frame has tables without rules. Takes some 10 ms per MiB of it; more
// than `most` is also an error, except for code beyond kMostCodeBytes, which has no rules.
base::Result<UnwindTables> compile_unwind_tables(base::Descriptor file,
                                                 const CompileLimits& most = {});

// Only UnwindTables::build_id of such a file.
base::Result<std::vector<uint8_t>> build_id_of(base::Descriptor file);

}  // namespace heaptape::recorder
