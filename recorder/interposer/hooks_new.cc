// operator new and delete in all forms, interposed. libstdc++ serves them by calling malloc and
// free; jemalloc, mimalloc and tcmalloc serve them directly. Either way the program made one call,
// and one event is recorded, under the operator's name.
//
// operator new may throw, and an exception passes through here without running any code of ours (a
// landing pad would need the C++ run-time library). So nothing may need undoing: before the call a
// hint is left for the malloc hook, which uses it up if libstdc++ calls it; a hint that is still
// there after the call means that the operator was served directly. An exception can leave a stale
// hint behind. The next operator new overwrites it, unless it looks like a call made by the one
// under way: same size, and no further down the stack than libstdc++'s operators lie apart.
#include <cstdint>

#include "recorder/interposer/hook_scope.h"

using namespace heaptape::recorder;  // NOLINT: exported functions live outside of namespaces

namespace {

constexpr uintptr_t kOperatorsApart = 512;  // bytes of stack between new[] and the new it calls

[[gnu::cold, gnu::noinline]] void find_operators() {
  HookScope scope;
  ArenaScope arena;
  resolve_operators();
}

bool called_by_hinted_operator(const ThreadLocal& local, size_t size, uintptr_t frame) {
  return local.hinted && local.hint_size == size && local.hint_frame - frame < kOperatorsApart;
}

template <Op op, bool kAligned, typename Real, typename... Extra>
[[gnu::always_inline]] inline void* hooked_new(Real& real, uintptr_t frame, size_t alignment,
                                               size_t size, Extra... extra) {
  if (real == nullptr) [[unlikely]]
    find_operators();
  ThreadLocal& local = thread_local_state;
  if (local.depth != 0) [[unlikely]] {
    count_nested_call();
    return real(size, extra...);
  }
  if (called_by_hinted_operator(local, size, frame)) return real(size, extra...);
  local.hinted = true;
  local.hint_op = op;
  local.hint_size = size;
  local.hint_alignment = alignment;
  local.hint_frame = frame;
  void* block = real(size, extra...);
  if (local.hinted) {
    local.hinted = false;
    record_allocation<kAligned>(op, block, size, alignment);
  }
  return block;
}

template <Op op, typename Real, typename... Extra>
[[gnu::always_inline]] inline void hooked_delete(Real& real, void* block, Extra... extra) {
  if (in_arena(block)) [[unlikely]]
    return;
  if (real == nullptr) [[unlikely]]
    find_operators();
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

#define HEAPTAPE_FRAME reinterpret_cast<uintptr_t>(__builtin_frame_address(0))

#define HEAPTAPE_NEW_Plain(symbol, op)                                                \
  HEAPTAPE_EXPORT void* symbol(size_t size) {                                         \
    return hooked_new<Op::op, false>(real_operators.symbol, HEAPTAPE_FRAME, 0, size); \
  }
#define HEAPTAPE_NEW_Nothrow(symbol, op)                                                       \
  HEAPTAPE_EXPORT void* symbol(size_t size, const void* nothrow) {                             \
    return hooked_new<Op::op, false>(real_operators.symbol, HEAPTAPE_FRAME, 0, size, nothrow); \
  }
#define HEAPTAPE_NEW_Aligned(symbol, op)                                                    \
  HEAPTAPE_EXPORT void* symbol(size_t size, size_t alignment) {                             \
    return hooked_new<Op::op, true>(real_operators.symbol, HEAPTAPE_FRAME, alignment, size, \
                                    alignment);                                             \
  }
#define HEAPTAPE_NEW_AlignedNothrow(symbol, op)                                             \
  HEAPTAPE_EXPORT void* symbol(size_t size, size_t alignment, const void* nothrow) {        \
    return hooked_new<Op::op, true>(real_operators.symbol, HEAPTAPE_FRAME, alignment, size, \
                                    alignment, nothrow);                                    \
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
