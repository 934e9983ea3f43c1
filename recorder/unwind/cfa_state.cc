#include "recorder/unwind/cfa_state.h"

#include <limits>
#include <optional>

namespace heaptape::recorder {
namespace {

// Operations of expressions, DWARF 5, section 7.7.1.
constexpr uint8_t kDeref = 0x06;  // DW_OP_deref
constexpr uint8_t kAnd = 0x1a;    // DW_OP_and
constexpr uint8_t kPlus = 0x22;   // DW_OP_plus
constexpr uint8_t kShl = 0x24;    // DW_OP_shl
constexpr uint8_t kGe = 0x2a;     // DW_OP_ge
constexpr uint8_t kLit0 = 0x30;   // DW_OP_lit0, and so on to 31
constexpr uint8_t kBreg0 = 0x70;  // DW_OP_breg0, and so on to 31

constexpr int64_t kReturnAddressOffset = -8;
// In ucontext_t.
constexpr int64_t kSavedRbp = 120;
constexpr int64_t kSavedRsp = 160;
constexpr int64_t kSavedRip = 168;

struct RegisterPlus {
  uint64_t number = 0;
  int64_t offset = 0;
};

// DW_OP_bregN offset.
std::optional<RegisterPlus> take_register(DwarfCursor& expression) {
  const uint8_t operation = expression.byte();
  if (operation < kBreg0 || operation >= kBreg0 + 32) return std::nullopt;
  const RegisterPlus result{uint64_t{operation} - kBreg0, expression.sleb()};
  if (!expression.ok()) return std::nullopt;
  return result;
}

// The rest of the .plt's expression after "stack pointer + 8": its entries push a number in their
// 11th byte. Other kinds of entries, which push elsewhere or not at all, say so by another number
// or have plain rules.
bool is_plt_tail(DwarfCursor expression) {
  const auto instruction = take_register(expression);
  if (!instruction || instruction->number != kDwarfReturnAddress || instruction->offset != 0) {
    return false;
  }
  for (const int operation :
       {kLit0 + 15, int{kAnd}, kLit0 + 11, int{kGe}, kLit0 + 3, int{kShl}, int{kPlus}}) {
    if (expression.byte() != operation) return false;
  }
  return expression.ok() && expression.done();
}

ReasonedRule without_rule(NoRule why) {
  return {{}, why};
}

// The registers are in the ucontext, at a fixed distance from the stack pointer's target.
ReasonedRule signal_rule(const CfaState& state) {
  if (state.return_address.at != SavedAt::kStack) return without_rule(NoRule::kReturnAddress);
  const auto distance = static_cast<int32_t>(state.return_address.offset) - int64_t{kSavedRip};
  if (state.return_address.offset != kSavedRip + distance) return without_rule(NoRule::kTooFar);
  const SavedRegister rsp{SavedAt::kStack, kSavedRsp + distance};
  const bool cfa_is_rsp =
      state.base == CfaBase::kStackContent && state.cfa_offset == kSavedRsp + distance;
  if (state.stack_pointer != rsp && !(cfa_is_rsp && state.stack_pointer.at == SavedAt::kUnset)) {
    return without_rule(NoRule::kStackPointer);
  }
  if (state.frame_pointer != SavedRegister{SavedAt::kStack, kSavedRbp + distance}) {
    return without_rule(NoRule::kFramePointer);
  }
  return {{CfaRule::kSignal, FrameRule::kSame, 0, static_cast<int32_t>(distance)}};
}

std::optional<CfaRule> cfa_rule(CfaBase base) {
  switch (base) {
    case CfaBase::kStack:
      return CfaRule::kStack;
    case CfaBase::kFrame:
      return CfaRule::kFrame;
    case CfaBase::kFrameContent:
      return CfaRule::kFrameContent;
    case CfaBase::kPlt:
      return CfaRule::kPlt;
    default:
      return std::nullopt;
  }
}

std::optional<FrameRule> frame_rule(SavedAt at) {
  switch (at) {
    case SavedAt::kUnset:
    case SavedAt::kSame:
    case SavedAt::kUndefined:
      return FrameRule::kSame;
    case SavedAt::kCfa:
      return FrameRule::kAtCfa;
    case SavedAt::kFrame:
      return FrameRule::kAtFrame;
    default:
      return std::nullopt;
  }
}

}  // namespace

void set_cfa_expression(CfaState& state, DwarfCursor expression) {
  state.base = CfaBase::kExpression;
  state.cfa_offset = 0;
  const auto first = take_register(expression);
  if (!first) return;
  const bool is_stack = first->number == kDwarfRsp;
  if (is_stack && first->offset == 8 && is_plt_tail(expression)) {
    state.base = CfaBase::kPlt;
    return;
  }
  if (expression.byte() != kDeref || !expression.done() || !expression.ok()) return;
  if (!is_stack && first->number != kDwarfRbp) return;
  state.base = is_stack ? CfaBase::kStackContent : CfaBase::kFrameContent;
  state.cfa_offset = first->offset;
}

SavedRegister saved_by_expression(DwarfCursor expression) {
  const auto place = take_register(expression);
  if (!place || !expression.done()) return {SavedAt::kOther, 0};
  switch (place->number) {
    case kDwarfRbp:
      return {SavedAt::kFrame, place->offset};
    case kDwarfRsp:
      return {SavedAt::kStack, place->offset};
    default:
      return {SavedAt::kOther, 0};
  }
}

ReasonedRule rule_of(const CfaState& state, bool is_signal) {
  if (state.return_address.at == SavedAt::kUndefined) return {{CfaRule::kEnd}};
  if (is_signal) return signal_rule(state);
  const auto cfa = cfa_rule(state.base);
  if (!cfa) {
    return without_rule(state.base == CfaBase::kRegister ? NoRule::kCfaRegister
                                                         : NoRule::kCfaExpression);
  }
  if (state.return_address != SavedRegister{SavedAt::kCfa, kReturnAddressOffset}) {
    return without_rule(NoRule::kReturnAddress);
  }
  if (state.stack_pointer.at != SavedAt::kUnset) return without_rule(NoRule::kStackPointer);
  const auto frame = frame_rule(state.frame_pointer.at);
  if (!frame) return without_rule(NoRule::kFramePointer);
  const int64_t frame_offset = *frame == FrameRule::kSame ? 0 : state.frame_pointer.offset;
  const auto near_frame = static_cast<int16_t>(frame_offset);
  const auto near_cfa = static_cast<int32_t>(state.cfa_offset);
  if (near_frame != frame_offset || near_cfa != state.cfa_offset) {
    return without_rule(NoRule::kTooFar);
  }
  return {{*cfa, *frame, near_frame, near_cfa}};
}

}  // namespace heaptape::recorder
