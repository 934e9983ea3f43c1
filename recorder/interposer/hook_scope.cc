#include "recorder/interposer/hook_scope.h"

#include <signal.h>

#include "recorder/ring/raw_syscall.h"

namespace heaptape::recorder {
namespace {

constexpr int kFrameBits = 48;
constexpr uint64_t kOneCall = uint64_t{1} << kFrameBits;
constexpr uint64_t kFrameMask = kOneCall - 1;
// No allocator makes more calls than this to serve one.
constexpr uint64_t kPlausibleCalls = 1000;

// A signal handler may run on a stack of its own, anywhere. If we must not ask, assume that it
// does.
bool runs_on_signal_stack() {
  if (process.quiet) return true;
  stack_t stack{};
  return raw_syscall(SYS_sigaltstack, 0, as_long(&stack)) != 0 ||
         (stack.ss_flags & SS_ONSTACK) != 0;
}

// Stacks grow down: callees are below their callers.
bool is_plausible(uint64_t hook, uintptr_t frame) {
  if (hook >> kFrameBits >= kPlausibleCalls) return false;
  return frame < (hook & kFrameMask) || runs_on_signal_stack();
}

}  // namespace

bool is_nested(uintptr_t frame) {
  ThreadLocal& local = thread_local_state;
  if (is_plausible(local.hook, frame)) return true;
  // The call that the jump left, and those since then that were taken for the allocator's.
  move_nested_to_abandoned(local.hook >> kFrameBits);
  local.hook = 0;
  local.uses_arena = false;
  local.hint.pending = false;
  local.expected_free = nullptr;
  end_resize();
  return false;
}

void count_nested_call() {
  thread_local_state.hook += kOneCall;
  add_nested_call();
}

}  // namespace heaptape::recorder
