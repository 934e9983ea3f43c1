// The malloc family, interposed: each function forwards to the program's own allocator and records
// the call. Nothing here changes a size, a result or errno.
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "recorder/interposer/hook_scope.h"

using namespace heaptape::recorder;  // NOLINT: exported functions live outside of namespaces

namespace {

uint64_t product(size_t count, size_t size) {
  size_t bytes;
  return __builtin_mul_overflow(count, size, &bytes) ? UINT64_MAX : bytes;
}

// Whether the operator new under way makes this malloc(size) or aligned allocation. libstdc++ asks
// for at least one byte, and for a multiple of the alignment.
bool serves(const NewHint& hint, uint64_t size, uint64_t alignment) {
  if (!hint.pending || hint.alignment != alignment) return false;
  if (size == hint.size) return true;
  const uint64_t least = hint.size != 0 ? hint.size : 1;
  return alignment == 0 ? size == least : size - least < alignment;
}

// A failed call for an operator new is not final: the operator asks its handler and tries again,
// throws or returns null, and is recorded then.
template <bool kAligned>
[[gnu::always_inline]] inline void record_or_serve_hint(Op op, const void* block, uint64_t size,
                                                        uint64_t alignment, uintptr_t frame) {
  NewHint& hint = thread_local_state.hint;
  if (serves(hint, size, alignment)) {
    if (block == nullptr) return;
    hint.pending = false;
    op = hint.op;
    size = hint.size;
    frame = hint.frame;
  }
  record_allocation<kAligned>(op, block, size, alignment, frame);
}

// For a call made while another hook runs: by the allocator, or by our own symbol look-up. True if
// the arena must serve it.
[[gnu::cold]] bool nested_uses_arena() {
  if (thread_local_state.uses_arena) return true;
  count_nested_call();
  return false;
}

// realloc of a block from the arena moves it to the real heap, where it is an ordinary block.
[[gnu::cold]] void* leave_arena(void* old, size_t size) {
  void* block = malloc(size);
  if (block == nullptr) return nullptr;
  const size_t old_size = arena_block_size(old);
  std::memcpy(block, old, old_size < size ? old_size : size);
  return block;
}

[[gnu::cold]] void* arena_reallocate(void* old, size_t size) {
  void* block = arena_allocate(16, size);
  if (block != nullptr && in_arena(old)) {
    const size_t old_size = arena_block_size(old);
    std::memcpy(block, old, old_size < size ? old_size : size);
  }
  return block;
}

template <typename Call>
[[gnu::always_inline]] inline void* hooked_resize(Op op, void* old, uint64_t bytes, Call call) {
  if (in_arena(old) && !thread_local_state.uses_arena) [[unlikely]]
    return leave_arena(old, bytes);
  HookScope scope;
  if (scope.nested()) [[unlikely]] {
    return nested_uses_arena() ? arena_reallocate(old, bytes) : call();
  }
  const uint64_t begin_stamp = resize_begin_stamp(old);
  void* block = call();
  record_resize(op, old, bytes, block, begin_stamp, HEAPTAPE_FRAME);
  return block;
}

template <typename Call>
[[gnu::always_inline]] inline void* hooked_aligned(Op op, size_t alignment, size_t size,
                                                   Call call) {
  HookScope scope;
  if (scope.nested()) [[unlikely]] {
    return nested_uses_arena() ? arena_allocate(alignment, size) : call();
  }
  void* block = call();
  record_or_serve_hint<true>(op, block, size, alignment, HEAPTAPE_FRAME);
  return block;
}

}  // namespace

HEAPTAPE_EXPORT void* malloc(size_t size) {
  HookScope scope;
  if (scope.nested()) [[unlikely]] {
    return nested_uses_arena() ? arena_allocate(16, size) : real_malloc.malloc(size);
  }
  void* block = real_malloc.malloc(size);
  record_or_serve_hint<false>(Op::kMalloc, block, size, 0, HEAPTAPE_FRAME);
  return block;
}

HEAPTAPE_EXPORT void* calloc(size_t count, size_t size) {
  HookScope scope;
  if (scope.nested()) [[unlikely]] {
    return nested_uses_arena() ? arena_allocate(16, product(count, size))
                               : real_malloc.calloc(count, size);
  }
  void* block = real_malloc.calloc(count, size);
  record_allocation<false>(Op::kCalloc, block, product(count, size), 0, HEAPTAPE_FRAME);
  return block;
}

HEAPTAPE_EXPORT void* realloc(void* old, size_t size) {
  return hooked_resize(Op::kRealloc, old, size, [=] { return real_malloc.realloc(old, size); });
}

HEAPTAPE_EXPORT void* reallocarray(void* old, size_t count, size_t size) {
  return hooked_resize(Op::kReallocArray, old, product(count, size),
                       [=] { return real_malloc.reallocarray(old, count, size); });
}

HEAPTAPE_EXPORT void free(void* block) {
  if (in_arena(block)) [[unlikely]]
    return;
  HookScope scope;
  if (!scope.nested()) [[likely]] {
    record_release(Op::kFree, block);
  } else if (block != thread_local_state.expected_free) {
    count_nested_call();
  }
  real_malloc.free(block);
}

HEAPTAPE_EXPORT void* aligned_alloc(size_t alignment, size_t size) {
  return hooked_aligned(Op::kAlignedAlloc, alignment, size,
                        [=] { return real_malloc.aligned_alloc(alignment, size); });
}

HEAPTAPE_EXPORT void* memalign(size_t alignment, size_t size) {
  return hooked_aligned(Op::kMemalign, alignment, size,
                        [=] { return real_malloc.memalign(alignment, size); });
}

HEAPTAPE_EXPORT int posix_memalign(void** out, size_t alignment, size_t size) {
  HookScope scope;
  if (scope.nested()) [[unlikely]] {
    count_nested_call();
    return real_malloc.posix_memalign(out, alignment, size);
  }
  const int result = real_malloc.posix_memalign(out, alignment, size);
  record_or_serve_hint<true>(Op::kPosixMemalign, result == 0 ? *out : nullptr, size, alignment,
                             HEAPTAPE_FRAME);
  return result;
}

HEAPTAPE_EXPORT void* valloc(size_t size) {
  HookScope scope;
  if (scope.nested()) [[unlikely]] {
    return nested_uses_arena() ? arena_allocate(4096, size) : real_malloc.valloc(size);
  }
  void* block = real_malloc.valloc(size);
  record_allocation<false>(Op::kValloc, block, size, 0, HEAPTAPE_FRAME);
  return block;
}

HEAPTAPE_EXPORT void* pvalloc(size_t size) {
  HookScope scope;
  if (scope.nested()) [[unlikely]] {
    return nested_uses_arena() ? arena_allocate(4096, size) : real_malloc.pvalloc(size);
  }
  void* block = real_malloc.pvalloc(size);
  record_allocation<false>(Op::kPvalloc, block, size, 0, HEAPTAPE_FRAME);
  return block;
}
