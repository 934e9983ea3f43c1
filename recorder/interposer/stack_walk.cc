#include "recorder/interposer/stack_walk.h"

#include <span>

#include "recorder/interposer/attach.h"
#include "recorder/interposer/foreign_bytes.h"
#include "recorder/interposer/machine_code.h"

namespace heaptape::recorder {
namespace {

using schema::StackEnd;

constexpr uintptr_t kWord = sizeof(uintptr_t);
constexpr int16_t kWordBytes = sizeof(uintptr_t);

uintptr_t word_at(uintptr_t address) {
  return *reinterpret_cast<const uintptr_t*>(address);
}

uintptr_t offset_of(int32_t bytes) {
  return static_cast<uintptr_t>(int64_t{bytes});
}

// Between the stack pointer of a function without information and its frame pointer, in bytes.
constexpr uintptr_t kMostGuess = 64 << 10;

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
  code_ = view_code(map_offset_of(offset));
  has_asked_ = false;
  for (KnownRule& known : rules_) known = {};
  for (uintptr_t& call : calls_) call = 0;
  asm volatile("" ::: "memory");  // a jump before this line leaves all of it to the next walk
  code_offset_ = offset;
  return true;
}

UnwindRule StackWalker::rule_at(uintptr_t code) {
  const KnownRule& known = rules_[(code ^ code >> 9) % kRules];
  if (known.code == code) return known.rule;
  const UnwindRule rule = find_rule_at(code);
  keep_rule(code, rule);
  return rule;
}

void StackWalker::keep_rule(uintptr_t code, const UnwindRule& rule) {
  KnownRule& known = rules_[(code ^ code >> 9) % kRules];
  known.code = 0;
  asm volatile("" ::: "memory");  // a jump never leaves code with another's rule
  known.rule = rule;
  asm volatile("" ::: "memory");
  known.code = code;
}

// Also reports code in no mapping to the collector, once for each map: it may be new.
const CodeRange* StackWalker::range_of(uintptr_t code) {
  const CodeRange* const range = code_.map == nullptr ? nullptr : find_range(*code_.map, code);
  if (range != nullptr || has_asked_) return range;
  process.slot.load()->code_wanted.fetch_add(1, std::memory_order_relaxed);
  has_asked_ = true;
  return nullptr;
}

UnwindRule StackWalker::find_rule_at(uintptr_t code) {
  bool may_guess = false;
  const UnwindRule rule = table_rule_at(code, may_guess);
  return rule.cfa == CfaRule::kNone ? rule_of_code(code + 1, rule, may_guess) : rule;
}

// `may_guess`: the code is known to have no information, and seems to keep frame pointers.
UnwindRule StackWalker::table_rule_at(uintptr_t code, bool& may_guess) {
  const CodeRange* const range = range_of(code);
  if (range == nullptr) return {};
  if (range->table == kMadeCode) may_guess = has_prologue_before(code, range->begin);
  if (range->table <= kMadeCode) return {};
  const auto* const table = reinterpret_cast<const UnwindTable*>(code_.file + range->table);
  const UnwindRule rule = find_rule(*table, range->offset + (code - range->begin));
  may_guess = rule == kFramedRule;
  return rule;
}

// Whether a function that makes a frame pointer begins not far before, in the same range. The
// code's own beginning is unknown: the code may be in that function or in a later one.
bool StackWalker::has_prologue_before(uintptr_t code, uintptr_t begin) {
  constexpr uintptr_t kMostDistance = 16 << 10;
  constexpr uintptr_t kPiece = 512;
  uint8_t bytes[kPiece + kPrologueBytes];
  const uintptr_t first = code - begin > kMostDistance ? code - kMostDistance : begin;
  for (uintptr_t end = code; end > first;) {
    const uintptr_t from = end - first > kPiece ? end - kPiece : first;
    const size_t count = copy_foreign(from, bytes, end - from + kPrologueBytes);
    if (has_prologue({bytes, count})) return true;
    end = from;
  }
  return false;
}

// The rule for code without one in the tables, read from `next` on, where a call returns.
UnwindRule StackWalker::rule_of_code(uintptr_t next, const UnwindRule& otherwise, bool may_guess) {
  uint8_t bytes[kMostEpilogueBytes];
  const size_t count = copy_foreign(next, bytes, sizeof bytes);
  UnwindRule rule;
  if (read_epilogue({bytes, count}, rule)) return rule;
  return may_guess && is_behind_call(next) ? UnwindRule{CfaRule::kCodeGuess} : otherwise;
}

// Whether a call can have this return address: it is in known code, after a call.
bool StackWalker::is_behind_call(uintptr_t code) {
  uintptr_t& known = calls_[(code ^ code >> 9) % kCalls];
  if (known == code) return true;
  const CodeRange* const range = range_of(code - 1);
  if (range == nullptr || code - range->begin < kMostCallBytes) return false;
  uint8_t bytes[kMostCallBytes];
  const size_t count = copy_foreign(code - kMostCallBytes, bytes, sizeof bytes);
  if (count != sizeof bytes || !ends_in_call(bytes)) return false;
  known = code;
  return true;
}

Step StackWalker::cut(StackEnd why) {
  cut_ = why;
  return Step::kCut;
}

Step StackWalker::come_to(uintptr_t return_address) {
  return may_be_code(return_address) ? Step::kFrame : cut(StackEnd::kNoCode);
}

[[gnu::flatten]] Step StackWalker::step(const Position& from, Position& to, uint8_t& basis) {
  if (process.unwinding == Unwinding::kFramePointers) {
    basis = kByFrame;
    return step_by_frame(from, to);
  }
  const UnwindRule rule = rule_at(from.return_address - 1);
  const bool by_frame = rule.cfa == CfaRule::kFrame || rule.cfa == CfaRule::kFrameContent ||
                        rule.frame == FrameRule::kAtFrame;
  basis = by_frame ? kByFrame : 0;
  return step_by_rule(rule, from, to, basis);
}

// A function with a frame pointer has its caller's at that address, followed by its return address.
// The outermost one has 0 (System V ABI, AMD64, 3.4.1). If a function uses the register for
// something else, it mostly points away from the stack.
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

Step StackWalker::step_by_rule(const UnwindRule& rule, const Position& from, Position& to,
                               uint8_t& basis) {
  if (rule.cfa == CfaRule::kEnd) return Step::kEnd;
  if (rule.cfa == CfaRule::kNone) return cut_in(from.return_address - 1);
  if (rule.cfa >= CfaRule::kSignal) [[unlikely]] {
    if (rule.cfa != CfaRule::kSignal) return step_by_code(rule, from, to, basis);
    return step_out_of_signal(from.stack_pointer + offset_of(rule.cfa_offset), to);
  }
  uintptr_t cfa = 0;
  if (!find_cfa(rule, from, cfa)) return cut(StackEnd::kUnreadable);
  const uintptr_t slot = cfa - kWord;
  if (slot < from.stack_pointer || !memory_.read(slot, to.return_address) ||
      !restore_frame(rule, cfa, from, to)) {
    return cut(StackEnd::kUnreadable);
  }
  // The word that locates the slot may differ though the frame pointer is the same.
  to.slot = rule.cfa == CfaRule::kFrameContent ? 0 : slot;
  to.stack_pointer = cfa;
  return come_to(to.return_address);
}

// Ends the stack in code that has no rule.
Step StackWalker::cut_in(uintptr_t code) {
  const CodeRange* const range = range_of(code);
  const bool is_known = range != nullptr && range->table != kMadeCode;
  return cut(is_known ? StackEnd::kNoRule : StackEnd::kUnknownCode);
}

// Steps by a rule that was read from the code itself, or guessed. A signal can interrupt a function
// before it has its frame, and code made at run time may be other code by now, so the result must
// be within reach, and a return address.
Step StackWalker::step_by_code(const UnwindRule& rule, const Position& from, Position& to,
                               uint8_t& basis) {
  const uintptr_t code = from.return_address - 1;
  if (from.slot == 0 && from.return_address == interrupted_) return cut_in(code);
  const bool is_guess = rule.cfa == CfaRule::kCodeGuess;
  UnwindRule plain = rule;
  plain.cfa = CfaRule::kStack;
  if (rule.cfa != CfaRule::kCodeStack) {
    if (from.frame_pointer - from.stack_pointer > kMostGuess) return cut_in(code);
    basis = is_guess ? kByFrame | kByGuess : kByFrame;
    plain = {CfaRule::kFrame, FrameRule::kAtCfa, -2 * kWordBytes, 2 * kWordBytes};
  }
  const bool is_found = step_by_rule(plain, from, to, basis) == Step::kFrame;
  if (is_found && is_behind_call(to.return_address)) return Step::kFrame;
  if (is_guess) basis = kByFrame;  // it failed, but another frame pointer may be right
  // Reading the code again and again would take long.
  if (is_found) keep_rule(code, {});
  return cut_in(code);
}

// False if it depends on unreadable memory.
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
  interrupted_ = to.return_address;
  to.frame_home = home;
  return come_to(to.return_address);
}

}  // namespace heaptape::recorder
