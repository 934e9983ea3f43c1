#include "recorder/interposer/signal_frames.h"

#include <signal.h>
#include <ucontext.h>

#include <cstddef>

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
  const auto stack_pointer = static_cast<uintptr_t>(registers[REG_RSP]);
  return (static_cast<uint64_t>(registers[REG_CSGSFS]) & 0xffff) == kUserCode &&
         stack_pointer > address + kContextBytes && stack_pointer <= outer;
}

// The pages at both ends are in use. On a stack that is not the thread's own, another thread may
// unmap those in between, but not while it runs on both ends of them.
bool is_readable(uintptr_t from, uintptr_t to) {
  for (uintptr_t page = (from & ~(kPage - 1)) + kPage; page < (to & ~(kPage - 1)); page += kPage) {
    if (!is_page_readable(page)) return false;
  }
  return true;
}

}  // namespace

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

}  // namespace heaptape::recorder
