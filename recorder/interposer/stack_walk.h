// Walks from a hook's frame to its caller's, and on to the outermost, by the rules of
// recorder/unwind/unwind_table.h. docs/decisions/0022-stacks.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/interposer/code_view.h"
#include "recorder/interposer/stack_memory.h"
#include "recorder/unwind/unwind_table.h"
#include "schema/tape/stack_end.h"

namespace heaptape::recorder {

// Registers as they are once a function has returned, and where two of them were kept while it ran:
// if the same code has them at the same places, with the same values, then everything further out
// is the same.
struct Position {
  uintptr_t slot;            // address of the word with the return address; 0: do not compare
  uintptr_t return_address;  // one less lies in the code that goes on
  uintptr_t stack_pointer;
  uintptr_t frame_home;  // address of the word with the frame pointer
  uintptr_t frame_pointer;
};

// Inputs of a step from a frame, besides the stack pointer.
inline constexpr uint8_t kByFrame = 1;  // the frame pointer mattered
inline constexpr uint8_t kByGuess = 2;  // likewise, and nothing says that the function keeps one

// The result of a step to the next frame.
enum class Step : uint8_t {
  kFrame,  // at the next
  kEnd,    // there is none: the last was the outermost
  kCut,    // there should be one: see StackWalker::cut()
};

// For one thread. All zero at first; has no constructor, for memory that comes so from mmap.
class StackWalker {
 public:
  // Begins a walk with the function that called the hook whose frame is at `hook_frame`. Returns
  // whether the code map has changed: frames walked before may be walked differently now.
  bool begin(uintptr_t hook_frame, Position& position);

  // From a position to the next. Writes `to` field by field: a load of several fields at once would
  // wait for these stores. `basis`: kByFrame, kByGuess.
  Step step(const Position& from, Position& to, uint8_t& basis);
  // After a kCut.
  schema::StackEnd cut() const { return cut_; }

  StackMemory& memory() { return memory_; }

 private:
  static constexpr size_t kRules = 2048;
  static constexpr size_t kCalls = 512;

  struct KnownRule {
    uintptr_t code;
    UnwindRule rule;
  };

  bool refresh_code();
  UnwindRule rule_at(uintptr_t code);
  void keep_rule(uintptr_t code, const UnwindRule& rule);
  [[gnu::noinline]] UnwindRule find_rule_at(uintptr_t code);
  const CodeRange* range_of(uintptr_t code);
  UnwindRule table_rule_at(uintptr_t code, bool& may_guess);
  UnwindRule rule_of_code(uintptr_t next, const UnwindRule& otherwise, bool may_guess);
  static bool has_prologue_before(uintptr_t code, uintptr_t begin);
  bool is_behind_call(uintptr_t code);
  Step cut(schema::StackEnd why);
  Step come_to(uintptr_t return_address);
  Step step_by_frame(const Position& from, Position& to);
  Step step_by_rule(const UnwindRule& rule, const Position& from, Position& to, uint8_t& basis);
  [[gnu::noinline]] Step step_by_code(const UnwindRule& rule, const Position& from, Position& to,
                                      uint8_t& basis);
  [[gnu::noinline]] Step cut_in(uintptr_t code);
  Step step_out_of_signal(uintptr_t context, Position& to);
  bool find_cfa(const UnwindRule& rule, const Position& from, uintptr_t& cfa);
  bool restore_frame(const UnwindRule& rule, uintptr_t cfa, const Position& from, Position& to);

  StackMemory memory_;
  uint64_t code_offset_;  // of the map below, in its file
  CodeView code_;
  bool has_asked_;  // asked the collector about code that is in no mapping of this map
  schema::StackEnd cut_;
  uintptr_t interrupted_;    // the return address to which the last signal frame led
  KnownRule rules_[kRules];  // by address, as a direct-mapped cache
  uintptr_t calls_[kCalls];  // likewise: return addresses known to follow a call
};

}  // namespace heaptape::recorder
