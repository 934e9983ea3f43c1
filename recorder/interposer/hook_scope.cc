#include "recorder/interposer/hook_scope.h"

#include <signal.h>

#include "recorder/interposer/signal_frames.h"
#include "recorder/ring/raw_syscall.h"

namespace heaptape::recorder {
namespace {

constexpr int kFrameBits = 48;
constexpr uint64_t kOneCall = uint64_t{1} << kFrameBits;
constexpr uint64_t kFrameMask = (kOneCall - 1) & ~kAccounted;
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

// The thread goes on with what is published.
void abandon_hook(ThreadLocal& local) {
  const uint64_t calls = local.hook >> kFrameBits;
  bool is_accounted = (local.hook & kAccounted) != 0;
  ThreadState& state = *local.state;
  if (state.ring != nullptr) {
    const uint64_t head = state.ring->head.load(std::memory_order_relaxed);
    is_accounted |= head > state.head;
    state.head = head;
  }
  count_interrupted_calls(calls + (is_accounted ? 0 : 1), calls);
  local.hook = 0;
  local.uses_arena = false;
  local.hint.pending = false;
  local.expected_free = nullptr;
  end_resize();
}

}  // namespace

bool is_nested(uintptr_t frame) {
  ThreadLocal& local = thread_local_state;
  if (is_plausible(local.hook, frame)) return true;
  // The call that the jump left, and those since then that were taken for the allocator's, are
  // lost.
  abandon_hook(local);
  return false;
}

void count_nested_call() {
  ThreadLocal& local = thread_local_state;
  if (in_handler_that_interrupted(local.hook & kFrameMask, stack_pointer())) {
    count_interrupted_calls(1);
    return;
  }
  local.hook += kOneCall;
  add_nested_call();
}

}  // namespace heaptape::recorder
