#include "recorder/interposer/hook_scope.h"

#include <signal.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>

#include "base/address/pages.h"
#include "recorder/interposer/attach.h"
#include "recorder/interposer/foreign_bytes.h"
#include "recorder/ring/raw_syscall.h"

namespace heaptape::recorder {
namespace {

constexpr uintptr_t kMostBytes = uintptr_t{1} << 20;
constexpr uintptr_t kPage = base::kPageBytes;
constexpr uint64_t kUserCode = 0x33;  // the segment of 64-bit code
// The kernel writes at least this much of a ucontext_t.
constexpr uintptr_t kContextBytes = offsetof(ucontext_t, uc_mcontext.fpregs);

// The frame begins with the handler's return address, so that the handler is entered with the stack
// as after a call; the context follows. The interrupted function's stack is above it.
bool is_signal_frame(uintptr_t address, uintptr_t outer) {
  const auto& context = *reinterpret_cast<const ucontext_t*>(address + sizeof(uintptr_t));
  const auto* const registers = context.uc_mcontext.gregs;
  const auto interrupted = static_cast<uintptr_t>(registers[REG_RSP]);
  return (static_cast<uint64_t>(registers[REG_CSGSFS]) & 0xffff) == kUserCode &&
         interrupted > address + kContextBytes && interrupted <= outer;
}

// The pages at both ends are in use. On a stack that is not the thread's own, another thread may
// unmap those in between, but not while it runs on both ends of them.
bool is_readable(uintptr_t from, uintptr_t to) {
  for (uintptr_t page = (from & ~(kPage - 1)) + kPage; page < (to & ~(kPage - 1)); page += kPage) {
    if (!is_page_readable(page)) return false;
  }
  return true;
}

// Whether a signal handler runs now that interrupted a given function of the same thread. Looks for
// what the kernel leaves on the stack for a handler to return to (struct rt_sigframe of Linux,
// arch/x86/include/asm/sigframe.h) between `frame`, the stack pointer now, and `outer`, that of the
// function. A handler on an alternate stack counts if that function is not on it. False where it
// must not or cannot look: further than a MiB, or while system calls are forbidden.
bool in_handler_that_interrupted(uintptr_t outer, uintptr_t frame) {
  if (process.quiet.load(std::memory_order_relaxed)) return false;
  if (frame >= outer || outer - frame > kMostBytes) {
    stack_t stack{};
    if (raw_syscall(SYS_sigaltstack, 0, as_long(&stack)) != 0) return false;
    const auto low = reinterpret_cast<uintptr_t>(stack.ss_sp);
    return (stack.ss_flags & SS_ONSTACK) != 0 && outer - low >= stack.ss_size;
  }
  if (!is_readable(frame, outer)) return false;
  constexpr uintptr_t kStackAlignment = 16;
  const uintptr_t first = (frame & ~(kStackAlignment - 1)) + sizeof(uintptr_t);
  for (uintptr_t at = first; at + sizeof(uintptr_t) + kContextBytes <= outer;
       at += kStackAlignment) {
    if (at >= frame && is_signal_frame(at, outer)) return true;
  }
  return false;
}

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
