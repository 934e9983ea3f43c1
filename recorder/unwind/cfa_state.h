// Call frame information for one address, as far as it matters for a walk, and the rule
// (unwind_table.h) made from it.
#pragma once

#include <cstdint>

#include "recorder/unwind/dwarf_cursor.h"
#include "recorder/unwind/unwind_table.h"

namespace heaptape::recorder {

// Why an address has no rule.
enum class NoRule : uint8_t {
  kHasRule,
  kNoInformation,  // no function's information covers it
  kDamaged,        // information that makes no sense
  kCfaRegister,    // the CFA is counted from a register that a walk does not know
  kCfaExpression,  // the CFA is an expression of an unknown kind
  kReturnAddress,  // the return address is not at CFA - 8
  kFramePointer,   // the frame pointer is in another register, or at a place of an unknown kind
  kStackPointer,   // the caller's stack pointer is not the CFA
  kTooFar,         // an offset is too large for a rule
  kTooManyRules,   // a module with more different rules than a table holds
};
inline constexpr int kNoRuleReasons = 10;

// The base of the CFA.
enum class CfaBase : uint8_t {
  kUnset,
  kStack,         // stack pointer + offset
  kFrame,         // frame pointer + offset
  kRegister,      // another register
  kFrameContent,  // the word at frame pointer + offset
  kStackContent,  // the word at stack pointer + offset
  kPlt,
  kExpression,  // anything else
};

// Where a register of the caller is.
enum class SavedAt : uint8_t {
  kUnset,
  kSame,
  kUndefined,
  kCfa,    // CFA + offset
  kFrame,  // frame pointer + offset
  kStack,  // stack pointer + offset
  kOther,
};

struct SavedRegister {
  SavedAt at = SavedAt::kUnset;
  int64_t offset = 0;

  bool operator==(const SavedRegister&) const = default;
};

// One row of the table that a CFA program describes.
struct CfaState {
  CfaBase base = CfaBase::kUnset;
  int64_t cfa_offset = 0;
  SavedRegister frame_pointer;
  SavedRegister stack_pointer;
  SavedRegister return_address;
};

// Numbers of registers in DWARF, x86-64.
inline constexpr uint64_t kDwarfRbp = 6;
inline constexpr uint64_t kDwarfRsp = 7;
inline constexpr uint64_t kDwarfReturnAddress = 16;

// Makes an expression that yields the CFA the base of `state`.
void set_cfa_expression(CfaState& state, DwarfCursor expression);
// Interprets an expression that yields where a register is saved.
SavedRegister saved_by_expression(DwarfCursor expression);

// `why` says why the rule is kNone; kHasRule if it is not.
struct ReasonedRule {
  UnwindRule rule;
  NoRule why = NoRule::kHasRule;
};

// `is_signal`: the row's code was not called; a signal handler returns to it.
ReasonedRule rule_of(const CfaState& state, bool is_signal);

}  // namespace heaptape::recorder
