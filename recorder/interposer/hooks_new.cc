// operator new and delete in all forms, interposed. libstdc++ serves them by calling malloc and
// free; jemalloc, mimalloc and tcmalloc serve them directly. Either way the program made one call,
// and one event is recorded, under the operator's name.
//
// Before the call, a hint is left for the malloc hook, which consumes it when libstdc++ calls it. A
// hint that is still there after the call means that the operator was served directly, or failed.
//
// operator new may throw, and a landing pad would need the C++ run-time library. But the unwinder
// calls every frame's personality routine on its way, and ours is a plain function: it records the
// failed call and lets the exception pass.
#include <cstdint>

#include "recorder/interposer/hook_scope.h"

using namespace heaptape::recorder;  // NOLINT: exported functions live outside of namespaces

namespace {

constexpr uintptr_t kOperatorsApart = 512;  // bytes of stack between new[] and the new it calls

bool is_called_by_hinted(const NewHint& hint, size_t size, uintptr_t frame) {
  return hint.pending && hint.size == size && hint.frame - frame < kOperatorsApart;
}

// Drops the hint of an operator that a signal handler left by a jump, before its malloc. If this
// operator is further in, the other is still under way.
[[gnu::cold]] void drop_left_hint(NewHint& hint, uintptr_t frame) {
  if (frame < hint.frame) return;
  hint.pending = false;
  count_interrupted_calls(1);
}

// After the operator that left the hint has ended, by return or by exception.
[[gnu::always_inline]] inline void record_by_hint(NewHint& hint, const void* block) {
  HookScope scope;  // a signal handler that allocates meanwhile must stay out of the ring
  hint.pending = false;
  if (heaptape::schema::op_info(hint.op).aligned) {
    record_allocation<true>(hint.op, block, hint.size, hint.alignment, hint.frame);
  } else {
    record_allocation<false>(hint.op, block, hint.size, 0, hint.frame);
  }
}

template <Op op, typename Real, typename... Extra>
[[gnu::always_inline]] inline void* hooked_new(Real& real, uintptr_t frame, size_t alignment,
                                               size_t size, Extra... extra) {
  ThreadLocal& local = thread_local_state;
  if (local.hook != 0 && is_nested(stack_pointer())) [[unlikely]] {
    count_nested_call();
    return real(size, extra...);
  }
  if (local.hint.pending) [[unlikely]]
    drop_left_hint(local.hint, frame);
  if (is_called_by_hinted(local.hint, size, frame)) return real(size, extra...);
  const bool in_new_handler = local.hint.pending;
  NewHint outer;
  if (in_new_handler) [[unlikely]]
    outer = local.hint;
  local.hint = {true, op, size, alignment, frame};
  void* block = real(size, extra...);
  if (local.hint.pending) record_by_hint(local.hint, block);
  if (in_new_handler) [[unlikely]]
    local.hint = outer;
  return block;
}

template <Op op, typename Real, typename... Extra>
[[gnu::always_inline]] inline void hooked_delete(Real& real, void* block, Extra... extra) {
  if (in_arena(block)) [[unlikely]]
    return;
  ThreadLocal& local = thread_local_state;
  HookScope scope;
  if (scope.nested()) [[unlikely]] {
    if (block != local.expected_free) count_nested_call();
    real(block, extra...);
    return;
  }
  record_release(op, block);
  local.expected_free = block;
  real(block, extra...);
  local.expected_free = nullptr;
}

}  // namespace

// The personality routine of the operators (Itanium C++ ABI, exception handling, level I).
extern "C" __attribute__((visibility("hidden"), used)) int heaptape_new_unwound(int, int actions,
                                                                                uint64_t, void*,
                                                                                void*) {
  constexpr int kCleanupPhase = 2;
  constexpr int kContinueUnwind = 8;
  NewHint& hint = thread_local_state.hint;
  if ((actions & kCleanupPhase) != 0 && hint.pending) record_by_hint(hint, nullptr);
  return kContinueUnwind;
}

// 0x1b: relative to the program counter, 4 bytes.
#define HEAPTAPE_NOTE_UNWINDING() asm volatile(".cfi_personality 0x1b, heaptape_new_unwound")

#define HEAPTAPE_NEW_Plain(symbol, op)                                         \
  HEAPTAPE_EXPORT void* symbol(size_t size) {                                  \
    HEAPTAPE_NOTE_UNWINDING();                                                 \
    return hooked_new<Op::op>(real_operators.symbol, HEAPTAPE_FRAME, 0, size); \
  }
#define HEAPTAPE_NEW_Nothrow(symbol, op)                                                \
  HEAPTAPE_EXPORT void* symbol(size_t size, const void* nothrow) {                      \
    HEAPTAPE_NOTE_UNWINDING();                                                          \
    return hooked_new<Op::op>(real_operators.symbol, HEAPTAPE_FRAME, 0, size, nothrow); \
  }
#define HEAPTAPE_NEW_Aligned(symbol, op)                                                          \
  HEAPTAPE_EXPORT void* symbol(size_t size, size_t alignment) {                                   \
    HEAPTAPE_NOTE_UNWINDING();                                                                    \
    return hooked_new<Op::op>(real_operators.symbol, HEAPTAPE_FRAME, alignment, size, alignment); \
  }
#define HEAPTAPE_NEW_AlignedNothrow(symbol, op)                                                  \
  HEAPTAPE_EXPORT void* symbol(size_t size, size_t alignment, const void* nothrow) {             \
    HEAPTAPE_NOTE_UNWINDING();                                                                   \
    return hooked_new<Op::op>(real_operators.symbol, HEAPTAPE_FRAME, alignment, size, alignment, \
                              nothrow);                                                          \
  }
#define HEAPTAPE_NEW(symbol, op, shape) HEAPTAPE_NEW_##shape(symbol, op)
HEAPTAPE_NEW_ENTRY_POINTS(HEAPTAPE_NEW)

#define HEAPTAPE_DELETE_Plain(symbol, op)                \
  HEAPTAPE_EXPORT void symbol(void* block) {             \
    hooked_delete<Op::op>(real_operators.symbol, block); \
  }
#define HEAPTAPE_DELETE_Sized(symbol, op)                      \
  HEAPTAPE_EXPORT void symbol(void* block, size_t size) {      \
    hooked_delete<Op::op>(real_operators.symbol, block, size); \
  }
#define HEAPTAPE_DELETE_Nothrow(symbol, op)                       \
  HEAPTAPE_EXPORT void symbol(void* block, const void* nothrow) { \
    hooked_delete<Op::op>(real_operators.symbol, block, nothrow); \
  }
#define HEAPTAPE_DELETE_SizedAligned(symbol, op)                            \
  HEAPTAPE_EXPORT void symbol(void* block, size_t size, size_t alignment) { \
    hooked_delete<Op::op>(real_operators.symbol, block, size, alignment);   \
  }
#define HEAPTAPE_DELETE_SizedNothrow(symbol, op)                                    \
  HEAPTAPE_EXPORT void symbol(void* block, size_t alignment, const void* nothrow) { \
    hooked_delete<Op::op>(real_operators.symbol, block, alignment, nothrow);        \
  }
#define HEAPTAPE_DELETE(symbol, op, shape) HEAPTAPE_DELETE_##shape(symbol, op)
HEAPTAPE_DELETE_ENTRY_POINTS(HEAPTAPE_DELETE)
