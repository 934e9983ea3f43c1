#include "recorder/unwind/cfa_program.h"

#include <algorithm>

namespace heaptape::recorder {
namespace {

// Instructions that hold an operand in their lower six bits.
constexpr uint8_t kOperandMask = 0x3f;
constexpr uint8_t kAdvanceLoc = 0x40;
constexpr uint8_t kOffset = 0x80;
constexpr uint8_t kRestore = 0xc0;

constexpr uint8_t kNop = 0x00;
constexpr uint8_t kSetLoc = 0x01;
constexpr uint8_t kAdvanceLoc1 = 0x02;
constexpr uint8_t kAdvanceLoc2 = 0x03;
constexpr uint8_t kAdvanceLoc4 = 0x04;
constexpr uint8_t kOffsetExtended = 0x05;
constexpr uint8_t kRestoreExtended = 0x06;
constexpr uint8_t kUndefined = 0x07;
constexpr uint8_t kSameValue = 0x08;
constexpr uint8_t kRegister = 0x09;
constexpr uint8_t kRememberState = 0x0a;
constexpr uint8_t kRestoreState = 0x0b;
constexpr uint8_t kDefCfa = 0x0c;
constexpr uint8_t kDefCfaRegister = 0x0d;
constexpr uint8_t kDefCfaOffset = 0x0e;
constexpr uint8_t kDefCfaExpression = 0x0f;
constexpr uint8_t kExpression = 0x10;
constexpr uint8_t kOffsetExtendedSf = 0x11;
constexpr uint8_t kDefCfaSf = 0x12;
constexpr uint8_t kDefCfaOffsetSf = 0x13;
constexpr uint8_t kValOffset = 0x14;
constexpr uint8_t kValOffsetSf = 0x15;
constexpr uint8_t kValExpression = 0x16;
constexpr uint8_t kAdvanceLoc8 = 0x1d;             // DW_CFA_MIPS_advance_loc8
constexpr uint8_t kWindowSave = 0x2d;              // DW_CFA_GNU_window_save: of another machine
constexpr uint8_t kArgsSize = 0x2e;                // DW_CFA_GNU_args_size
constexpr uint8_t kNegativeOffsetExtended = 0x2f;  // DW_CFA_GNU_negative_offset_extended

// Where the state keeps a register; null if the register does not matter.
template <typename State>
auto* find_register(State& state, uint64_t number) {
  switch (number) {
    case kDwarfRbp:
      return &state.frame_pointer;
    case kDwarfRsp:
      return &state.stack_pointer;
    case kDwarfReturnAddress:
      return &state.return_address;
    default:
      return static_cast<decltype(&state.frame_pointer)>(nullptr);
  }
}

// This is the stack pointer's default rule, so it counts as nothing said.
SavedRegister value_at(uint64_t number, int64_t offset) {
  return {number == kDwarfRsp && offset == 0 ? SavedAt::kUnset : SavedAt::kOther, 0};
}

}  // namespace

void CfaProgram::start(const CfaTerms& terms, DwarfCursor instructions, uint64_t begin,
                       uint64_t end) {
  terms_ = &terms;
  instructions_ = instructions;
  location_ = begin;
  next_location_ = begin;
  end_ = end;
  state_ = terms.initial;
  remembered_count_ = 0;
}

bool CfaProgram::next(CfaRow& row) {
  if (location_ >= end_) return false;
  while (!instructions_.done() && next_location_ == location_) step();
  if (next_location_ == location_) next_location_ = end_;
  const ReasonedRule rule =
      instructions_.ok() ? rule_of(state_, terms_->is_signal) : ReasonedRule{{}, NoRule::kDamaged};
  row = {location_, next_location_, rule.rule, rule.why};
  location_ = next_location_;
  return true;
}

bool CfaProgram::run_initial(CfaTerms& terms, DwarfCursor instructions) {
  start(terms, instructions, 0, 1);
  while (!instructions_.done()) step();
  if (!instructions_.ok() || next_location_ != location_) return false;
  terms.initial = state_;
  return true;
}

void CfaProgram::step() {
  const uint8_t instruction = instructions_.byte();
  const uint8_t operand = instruction & kOperandMask;
  switch (instruction & ~kOperandMask) {
    case kAdvanceLoc:
      return advance(operand);
    case kOffset:
      return save(operand, {SavedAt::kCfa, factored(instructions_.uleb())});
    case kRestore:
      return restore(operand);
    default:
      return step_operand(instruction);
  }
}

void CfaProgram::step_operand(uint8_t instruction) {
  switch (instruction) {
    case kNop:
    case kWindowSave:
      return;
    case kArgsSize:
      instructions_.uleb();
      return;
    case kSetLoc:
      return advance_to(instructions_.pointer(terms_->pointer_encoding));
    case kAdvanceLoc1:
      return advance(instructions_.byte());
    case kAdvanceLoc2:
      return advance(instructions_.number<uint16_t>());
    case kAdvanceLoc4:
      return advance(instructions_.number<uint32_t>());
    case kAdvanceLoc8:
      return advance(instructions_.number<uint64_t>());
    case kRememberState:
      return remember();
    case kRestoreState:
      return recall();
    default:
      return step_cfa(instruction);
  }
}

void CfaProgram::step_cfa(uint8_t instruction) {
  switch (instruction) {
    case kDefCfa:
      set_cfa_register(instructions_.uleb());
      return set_cfa_offset(static_cast<int64_t>(instructions_.uleb()));
    case kDefCfaSf:
      set_cfa_register(instructions_.uleb());
      return set_cfa_offset(factored(static_cast<uint64_t>(instructions_.sleb())));
    case kDefCfaRegister:
      return set_cfa_register(instructions_.uleb());
    case kDefCfaOffset:
      return set_cfa_offset(static_cast<int64_t>(instructions_.uleb()));
    case kDefCfaOffsetSf:
      return set_cfa_offset(factored(static_cast<uint64_t>(instructions_.sleb())));
    case kDefCfaExpression:
      return set_cfa_expression(state_, instructions_.part(instructions_.uleb()));
    default:
      return step_register(instruction);
  }
}

void CfaProgram::step_register(uint8_t instruction) {
  const uint64_t number = instructions_.uleb();
  switch (instruction) {
    case kOffsetExtended:
      return save(number, {SavedAt::kCfa, factored(instructions_.uleb())});
    case kOffsetExtendedSf:
      return save(number, {SavedAt::kCfa, factored(static_cast<uint64_t>(instructions_.sleb()))});
    case kNegativeOffsetExtended:
      return save(number, {SavedAt::kCfa, factored(-instructions_.uleb())});
    case kRestoreExtended:
      return restore(number);
    case kUndefined:
      return save(number, {SavedAt::kUndefined, 0});
    case kSameValue:
      return save(number, {SavedAt::kSame, 0});
    case kRegister:
      instructions_.uleb();
      return save(number, {SavedAt::kOther, 0});
    case kExpression:
      return save(number, saved_by_expression(instructions_.part(instructions_.uleb())));
    case kValExpression:
      instructions_.skip(instructions_.uleb());
      return save(number, {SavedAt::kOther, 0});
    case kValOffset:
      return save(number, value_at(number, factored(instructions_.uleb())));
    case kValOffsetSf:
      return save(number, value_at(number, factored(static_cast<uint64_t>(instructions_.sleb()))));
    default:
      instructions_.fail();
  }
}

void CfaProgram::advance(uint64_t distance) {
  uint64_t bytes = 0;
  const bool is_far = __builtin_mul_overflow(distance, terms_->code_factor, &bytes);
  next_location_ = is_far || bytes > end_ - location_ ? end_ : location_ + bytes;
}

void CfaProgram::advance_to(uint64_t location) {
  if (location < location_) return instructions_.fail();
  next_location_ = std::min(location, end_);
}

int64_t CfaProgram::factored(uint64_t offset) const {
  return static_cast<int64_t>(offset * static_cast<uint64_t>(terms_->data_factor));
}

void CfaProgram::set_cfa_register(uint64_t number) {
  state_.base = number == kDwarfRsp   ? CfaBase::kStack
                : number == kDwarfRbp ? CfaBase::kFrame
                                      : CfaBase::kRegister;
}

void CfaProgram::set_cfa_offset(int64_t offset) {
  const bool is_register = state_.base == CfaBase::kStack || state_.base == CfaBase::kFrame ||
                           state_.base == CfaBase::kRegister;
  if (!is_register) state_.base = CfaBase::kExpression;  // an expression has no offset to replace
  state_.cfa_offset = offset;
}

void CfaProgram::save(uint64_t number, SavedRegister place) {
  if (SavedRegister* const saved = find_register(state_, number)) *saved = place;
}

void CfaProgram::restore(uint64_t number) {
  if (const SavedRegister* const initial = find_register(terms_->initial, number)) {
    save(number, *initial);
  }
}

void CfaProgram::remember() {
  if (remembered_count_ == kMostRemembered) return instructions_.fail();
  remembered_[remembered_count_++] = state_;
}

void CfaProgram::recall() {
  if (remembered_count_ == 0) return instructions_.fail();
  state_ = remembered_[--remembered_count_];
}

}  // namespace heaptape::recorder
