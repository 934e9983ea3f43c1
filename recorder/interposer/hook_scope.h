// The beginning of every interposed function.
#pragma once

#include "recorder/interposer/entry_points.h"
#include "recorder/interposer/producer.h"

#define HEAPTAPE_EXPORT extern "C" __attribute__((visibility("default")))

// Where the stack of an exported function begins, also in functions inlined into it.
#define HEAPTAPE_FRAME reinterpret_cast<uintptr_t>(__builtin_frame_address(0))

namespace heaptape::recorder {

[[gnu::always_inline]] inline uintptr_t stack_pointer() {
  uintptr_t pointer;
  asm("mov %%rsp, %0" : "=r"(pointer));
  return pointer;
}

// Whether a call at stack pointer `frame` comes from within the thread's hook under way, which
// there must be: then the allocator itself makes it, or a signal handler that interrupted it. False
// if that hook was left by a jump (siglongjmp(3) out of such a handler): the call is the program's,
// and the remains of the hook have been cleaned up.
[[gnu::cold, gnu::noinline]] bool is_nested(uintptr_t frame);
// Counts one more such call: the allocator's for the summary and for is_nested(), a handler's as
// lost.
[[gnu::cold, gnu::noinline]] void count_nested_call();

// Encloses each call to the real allocator. Calls that the allocator makes inside it are forwarded
// and counted, not recorded. Not for functions that may throw.
class HookScope {
 public:
  [[gnu::always_inline]] HookScope() {
    const uintptr_t frame = stack_pointer();
    nested_ = thread_local_state.hook != 0 && is_nested(frame);
    if (!nested_) [[likely]]
      thread_local_state.hook = frame;
  }
  [[gnu::always_inline]] ~HookScope() {
    if (!nested_) [[likely]]
      thread_local_state.hook = 0;
  }
  HookScope(const HookScope&) = delete;
  HookScope& operator=(const HookScope&) = delete;

  bool nested() const { return nested_; }

 private:
  bool nested_;
};

// While it lives, allocations of the thread within a hook come from the bootstrap arena.
class ArenaScope {
 public:
  ArenaScope() { thread_local_state.uses_arena = true; }
  ~ArenaScope() { thread_local_state.uses_arena = false; }
  ArenaScope(const ArenaScope&) = delete;
  ArenaScope& operator=(const ArenaScope&) = delete;
};

}  // namespace heaptape::recorder
