// How to get from a function's frame to its caller's, for each address of a module's code. The
// collector compiles these tables from the module's .eh_frame, and recorded processes read them. A
// page index and a binary search find the row for an address. docs/decisions/0022-stacks.md. Free
// of the C++ run-time library.
//
// "Stack pointer" and "frame pointer" are rsp and rbp; CFA is the canonical frame address (DWARF 5,
// section 6.4): the stack pointer before the call. The return address is always at CFA - 8.
#pragma once

#include <cstdint>

namespace heaptape::recorder {

enum class CfaRule : uint8_t {
  kNone,          // no information, or too complex for these rules: the walk is cut
  kEnd,           // the outermost frame: the return address is undefined
  kStack,         // stack pointer + cfa_offset
  kFrame,         // frame pointer + cfa_offset
  kFrameContent,  // the word at frame pointer + cfa_offset: a function that aligned its stack
  kPlt,           // stack pointer + 8, from the 11th byte of 16 on + 16: a stub of the .plt
  kSignal,        // interrupted by a signal: its registers are in the ucontext at stack pointer
                  // + cfa_offset
  // Not in tables: derived by a walk from the code itself.
  kCodeStack,  // like kStack
  kCodeFrame,  // like kFrame
  kCodeGuess,  // like kFrame, if the function has a frame pointer
};

// Offsets of registers in the kernel's ucontext: rbp, rsp and rip.
inline constexpr uint32_t kFrameInContext = 120;
inline constexpr uint32_t kStackInContext = 160;
inline constexpr uint32_t kCodeInContext = 168;

// The place of the caller's frame pointer.
enum class FrameRule : uint8_t {
  kSame,     // still in its register
  kAtCfa,    // in the word at CFA + frame_offset
  kAtFrame,  // in the word at frame pointer + frame_offset
};

struct UnwindRule {
  CfaRule cfa = CfaRule::kNone;
  FrameRule frame = FrameRule::kSame;
  int16_t frame_offset = 0;  // bytes
  int32_t cfa_offset = 0;    // bytes

  bool operator==(const UnwindRule&) const = default;
};
static_assert(sizeof(UnwindRule) == 8);

// There is no information, but most functions nearby begin by making a frame pointer.
inline constexpr UnwindRule kFramedRule{CfaRule::kNone, FrameRule::kSame, 0, 1};

inline constexpr uint32_t kUnwindPageLog2 = 12;  // bytes of code per entry of the index

// The head of a table, of one executable segment, in one piece of memory aligned to 8 bytes:
//
//   UnwindTable   UnwindRule[rules]   uint32_t first_row[pages + 1]   uint32_t code[rows]
//   uint16_t rule[rows]
//
// code[i], ascending, is where row i begins: an offset from the segment's first byte; it ends where
// the next one begins. Code without information has UnwindRule{} or kFramedRule. first_row[p] is
// the last row that begins at or before page p's first byte; code[0] is 0.
struct UnwindTable {
  uint32_t rows;
  uint32_t pages;
  uint32_t rules;
  uint32_t bytes;  // of the whole
};
static_assert(sizeof(UnwindTable) == 16);

// The rule at `offset` into the segment. A table is whole: the collector made it.
inline UnwindRule find_rule(const UnwindTable& table, uint64_t offset) {
  const auto* const rules = reinterpret_cast<const UnwindRule*>(&table + 1);
  const auto* const first_row = reinterpret_cast<const uint32_t*>(rules + table.rules);
  const auto* const code = first_row + table.pages + 1;
  const auto* const rule = reinterpret_cast<const uint16_t*>(code + table.rows);
  const uint64_t page = offset >> kUnwindPageLog2;
  if (page >= table.pages) return {};
  uint32_t low = first_row[page];
  uint32_t high = first_row[page + 1] + 1;  // past the last candidate row
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    if (code[middle] <= offset) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return rules[rule[low]];
}

}  // namespace heaptape::recorder
