// Runs the programs of DW_CFA_* instructions (DWARF 5, section 6.4.2) that say how the rules of a
// function change from address to address.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "recorder/unwind/cfa_state.h"
#include "recorder/unwind/dwarf_cursor.h"

namespace heaptape::recorder {

// A CIE's terms for the functions that share it.
struct CfaTerms {
  uint64_t code_factor = 1;  // below 2^16
  int64_t data_factor = -8;
  uint8_t pointer_encoding = kPointerAbsolute;
  bool is_signal = false;
  CfaState initial;  // where their programs begin
};

// A piece of code, never empty, with one rule. `why`: see ReasonedRule.
struct CfaRow {
  uint64_t begin = 0;
  uint64_t end = 0;
  UnwindRule rule;
  NoRule why = NoRule::kHasRule;
};

// Runs one program after another, and returns rows one by one, so that none needs memory. One
// thread.
class CfaProgram {
 public:
  // The instructions of a function, its code from `begin` to before `end`. `terms` must live until
  // the last row.
  void start(const CfaTerms& terms, DwarfCursor instructions, uint64_t begin, uint64_t end);
  // The next row. Rows ascend without gaps; neighbors may have the same rule. After an instruction
  // that makes no sense, there is no rule. False at the end.
  bool next(CfaRow& row);

  // Runs the instructions of a CIE, whose `terms` have an empty initial state, and makes the result
  // the initial one. False if they make no sense.
  bool run_initial(CfaTerms& terms, DwarfCursor instructions);

 private:
  static constexpr size_t kMostRemembered = 32;  // compilers remember one

  void step();
  void step_operand(uint8_t instruction);
  void step_cfa(uint8_t instruction);
  void step_register(uint8_t instruction);

  void advance(uint64_t distance);
  void advance_to(uint64_t location);
  int64_t factored(uint64_t offset) const;
  void set_cfa_register(uint64_t number);
  void set_cfa_offset(int64_t offset);
  void save(uint64_t number, SavedRegister place);
  void restore(uint64_t number);
  void remember();
  void recall();

  const CfaTerms* terms_ = nullptr;
  DwarfCursor instructions_;
  uint64_t location_ = 0;
  uint64_t next_location_ = 0;  // where the row from location_ ends, once it is greater
  uint64_t end_ = 0;
  CfaState state_;
  std::array<CfaState, kMostRemembered> remembered_;
  size_t remembered_count_ = 0;
};

}  // namespace heaptape::recorder
