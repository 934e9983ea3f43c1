#include "recorder/interposer/stack_walk.h"

#include "recorder/interposer/attach.h"

namespace heaptape::recorder {
namespace {

using schema::StackEnd;

constexpr uintptr_t kWord = sizeof(uintptr_t);

uintptr_t word_at(uintptr_t address) {
  return *reinterpret_cast<const uintptr_t*>(address);
}

uintptr_t offset_of(int32_t bytes) {
  return static_cast<uintptr_t>(int64_t{bytes});
}

// No table has it.
constexpr UnwindRule kUnknownCode{CfaRule::kNone, FrameRule::kSame, 0, 1};

bool may_be_code(uintptr_t address) {
  constexpr uintptr_t kLeastCode = 4096;
  constexpr uintptr_t kCodeLimit = uintptr_t{1} << 56;  // of five-level paging
  return address - kLeastCode < kCodeLimit - kLeastCode;
}

}  // namespace

bool StackWalker::begin(uintptr_t hook_frame, Position& position) {
  memory_.begin(hook_frame);
  const uintptr_t slot = hook_frame + kWord;
  position.slot = slot;
  position.return_address = word_at(slot);
  position.stack_pointer = slot + kWord;
  position.frame_home = hook_frame;
  position.frame_pointer = word_at(hook_frame);
  return refresh_code();
}

bool StackWalker::refresh_code() {
  const ProcessSlot* const slot = process.slot.load(std::memory_order_relaxed);
  const uint64_t offset = slot->code_map.load(std::memory_order_acquire);
  if (offset == code_offset_) [[likely]]
    return false;
  process.code_map = offset;
  code_ = view_code(offset);
  has_asked_ = false;
  for (KnownRule& known : rules_) known = {};
  asm volatile("" ::: "memory");  // a jump before this line leaves all of it to the next walk
  code_offset_ = offset;
  return true;
}

UnwindRule StackWalker::rule_at(uintptr_t code) {
  KnownRule& known = rules_[(code ^ code >> 9) % kRules];
  if (known.code == code) return known.rule;
  const UnwindRule rule = find_rule_at(code);
  known.code = 0;
  asm volatile("" ::: "memory");  // a jump leaves no code with another's rule
  known.rule = rule;
  asm volatile("" ::: "memory");
  known.code = code;
  return rule;
}

// Code that is in no mapping is told to the collector, once for each map: it may be new.
UnwindRule StackWalker::find_rule_at(uintptr_t code) {
  const CodeRange* const range = code_.map != nullptr ? find_range(*code_.map, code) : nullptr;
  if (range == nullptr) {
    if (!has_asked_) process.slot.load()->code_wanted.fetch_add(1, std::memory_order_relaxed);
    has_asked_ = true;
    return kUnknownCode;
  }
  if (range->table == 0) return {};
  const auto* const table = reinterpret_cast<const UnwindTable*>(code_.file + range->table);
  return find_rule(*table, range->offset + (code - range->begin));
}

Step StackWalker::cut(StackEnd why) {
  cut_ = why;
  return Step::kCut;
}

Step StackWalker::come_to(uintptr_t return_address) {
  return may_be_code(return_address) ? Step::kFrame : cut(StackEnd::kNoCode);
}

[[gnu::flatten]] Step StackWalker::step(const Position& from, Position& to, bool& by_frame) {
  if (process.unwinding == Unwinding::kFramePointers) {
    by_frame = true;
    return step_by_frame(from, to);
  }
  const UnwindRule rule = rule_at(from.return_address - 1);
  by_frame = rule.cfa == CfaRule::kFrame || rule.cfa == CfaRule::kFrameContent ||
             rule.frame == FrameRule::kAtFrame;
  return step_by_rule(rule, from, to);
}

// A function with a frame pointer has its caller's at that address and its return address behind
// it. The outermost one has 0 (System V ABI, AMD64, 3.4.1). What is no frame pointer, because a
// function uses the register for something else, mostly points away from the stack.
Step StackWalker::step_by_frame(const Position& from, Position& to) {
  const uintptr_t frame = from.frame_pointer;
  if (frame == 0) return Step::kEnd;
  const uintptr_t slot = frame + kWord;
  if (frame < from.stack_pointer || !memory_.read(frame, to.frame_pointer) ||
      !memory_.read(slot, to.return_address)) {
    return cut(StackEnd::kUnreadable);
  }
  to.slot = slot;
  to.stack_pointer = slot + kWord;
  to.frame_home = frame;
  return come_to(to.return_address);
}

Step StackWalker::step_by_rule(const UnwindRule& rule, const Position& from, Position& to) {
  if (rule.cfa == CfaRule::kEnd) return Step::kEnd;
  if (rule.cfa == CfaRule::kNone) {
    return cut(rule == kUnknownCode ? StackEnd::kUnknownCode : StackEnd::kNoRule);
  }
  if (rule.cfa == CfaRule::kSignal) {
    return step_out_of_signal(from.stack_pointer + offset_of(rule.cfa_offset), to);
  }
  uintptr_t cfa = 0;
  if (!find_cfa(rule, from, cfa)) return cut(StackEnd::kUnreadable);
  const uintptr_t slot = cfa - kWord;
  if (slot < from.stack_pointer || !memory_.read(slot, to.return_address) ||
      !restore_frame(rule, cfa, from, to)) {
    return cut(StackEnd::kUnreadable);
  }
  // The word that says where this is may differ though the frame pointer is the same.
  to.slot = rule.cfa == CfaRule::kFrameContent ? 0 : slot;
  to.stack_pointer = cfa;
  return come_to(to.return_address);
}

// False: it would have to be read where nothing can be.
bool StackWalker::find_cfa(const UnwindRule& rule, const Position& from, uintptr_t& cfa) {
  cfa = offset_of(rule.cfa_offset);
  if (rule.cfa == CfaRule::kStack) {
    cfa += from.stack_pointer;
    return true;
  }
  if (rule.cfa == CfaRule::kPlt) {
    const bool has_pushed = ((from.return_address - 1) & 15) >= 11;
    cfa = from.stack_pointer + kWord + (has_pushed ? kWord : 0);
    return true;
  }
  cfa += from.frame_pointer;
  if (rule.cfa == CfaRule::kFrame) return true;
  return memory_.read(cfa, cfa);
}

bool StackWalker::restore_frame(const UnwindRule& rule, uintptr_t cfa, const Position& from,
                                Position& to) {
  if (rule.frame == FrameRule::kSame) {
    to.frame_home = from.frame_home;
    to.frame_pointer = from.frame_pointer;
    return true;
  }
  const uintptr_t near = rule.frame == FrameRule::kAtCfa ? cfa : from.frame_pointer;
  const uintptr_t home = near + offset_of(rule.frame_offset);
  to.frame_home = home;
  return memory_.read(home, to.frame_pointer);
}

// Into the function that a signal interrupted, perhaps on another stack. Its slot is never
// compared: its other registers may differ though it is at the same place.
Step StackWalker::step_out_of_signal(uintptr_t context, Position& to) {
  const uintptr_t home = context + kFrameInContext;
  uintptr_t code = 0;
  if (!memory_.read(home, to.frame_pointer) ||
      !memory_.read(context + kStackInContext, to.stack_pointer) ||
      !memory_.read(context + kCodeInContext, code)) {
    return cut(StackEnd::kUnreadable);
  }
  to.slot = 0;
  to.return_address = code + 1;
  to.frame_home = home;
  return come_to(to.return_address);
}

}  // namespace heaptape::recorder
