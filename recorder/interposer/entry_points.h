// Every symbol the preload library defines, in one table, and the functions it forwards to.
#pragma once

#include <cstddef>
#include <cstdint>

#include "schema/tape/op.h"

namespace heaptape::recorder {

using schema::Op;

// X(symbol, result, parameters)
#define HEAPTAPE_MALLOC_ENTRY_POINTS(X)            \
  X(malloc, void*, (size_t))                       \
  X(calloc, void*, (size_t, size_t))               \
  X(realloc, void*, (void*, size_t))               \
  X(reallocarray, void*, (void*, size_t, size_t))  \
  X(free, void, (void*))                           \
  X(aligned_alloc, void*, (size_t, size_t))        \
  X(posix_memalign, int, (void**, size_t, size_t)) \
  X(memalign, void*, (size_t, size_t))             \
  X(valloc, void*, (size_t))                       \
  X(pvalloc, void*, (size_t))

// operator new and delete by their mangled names (Itanium C++ ABI, size_t = unsigned long).
// X(symbol, op, shape of the parameters)
#define HEAPTAPE_NEW_ENTRY_POINTS(X)                                        \
  X(_Znwm, kNew, Plain)                                                     \
  X(_Znam, kNewArray, Plain)                                                \
  X(_ZnwmRKSt9nothrow_t, kNewNothrow, Nothrow)                              \
  X(_ZnamRKSt9nothrow_t, kNewArrayNothrow, Nothrow)                         \
  X(_ZnwmSt11align_val_t, kNewAligned, Aligned)                             \
  X(_ZnamSt11align_val_t, kNewArrayAligned, Aligned)                        \
  X(_ZnwmSt11align_val_tRKSt9nothrow_t, kNewAlignedNothrow, AlignedNothrow) \
  X(_ZnamSt11align_val_tRKSt9nothrow_t, kNewArrayAlignedNothrow, AlignedNothrow)

#define HEAPTAPE_DELETE_ENTRY_POINTS(X)                                       \
  X(_ZdlPv, kDelete, Plain)                                                   \
  X(_ZdaPv, kDeleteArray, Plain)                                              \
  X(_ZdlPvm, kDeleteSized, Sized)                                             \
  X(_ZdaPvm, kDeleteArraySized, Sized)                                        \
  X(_ZdlPvRKSt9nothrow_t, kDeleteNothrow, Nothrow)                            \
  X(_ZdaPvRKSt9nothrow_t, kDeleteArrayNothrow, Nothrow)                       \
  X(_ZdlPvSt11align_val_t, kDeleteAligned, Sized)                             \
  X(_ZdaPvSt11align_val_t, kDeleteArrayAligned, Sized)                        \
  X(_ZdlPvmSt11align_val_t, kDeleteSizedAligned, SizedAligned)                \
  X(_ZdaPvmSt11align_val_t, kDeleteArraySizedAligned, SizedAligned)           \
  X(_ZdlPvSt11align_val_tRKSt9nothrow_t, kDeleteAlignedNothrow, SizedNothrow) \
  X(_ZdaPvSt11align_val_tRKSt9nothrow_t, kDeleteArrayAlignedNothrow, SizedNothrow)

// The shapes. An alignment (std::align_val_t) and a size are both a size_t in a register.
using NewPlain = void* (*)(size_t);
using NewNothrow = void* (*)(size_t, const void*);
using NewAligned = void* (*)(size_t, size_t);
using NewAlignedNothrow = void* (*)(size_t, size_t, const void*);
using DeletePlain = void (*)(void*);
using DeleteSized = void (*)(void*, size_t);
using DeleteNothrow = void (*)(void*, const void*);
using DeleteSizedAligned = void (*)(void*, size_t, size_t);
using DeleteSizedNothrow = void (*)(void*, size_t, const void*);

// The next definitions in the program's lookup order: its own allocator, whichever it is. Until
// they are known, the malloc family points at functions that find them first.
struct RealMalloc {
#define HEAPTAPE_FIELD(symbol, result, parameters) result(*symbol) parameters;
  HEAPTAPE_MALLOC_ENTRY_POINTS(HEAPTAPE_FIELD)
#undef HEAPTAPE_FIELD
};

// Stand-ins built on malloc and free, for a program that begins without C++.
struct RealOperators {
#define HEAPTAPE_FIELD(symbol, op, shape) New##shape symbol;
  HEAPTAPE_NEW_ENTRY_POINTS(HEAPTAPE_FIELD)
#undef HEAPTAPE_FIELD
#define HEAPTAPE_FIELD(symbol, op, shape) Delete##shape symbol;
  HEAPTAPE_DELETE_ENTRY_POINTS(HEAPTAPE_FIELD)
#undef HEAPTAPE_FIELD
};

extern RealMalloc real_malloc;
// Finds the real functions and joins the session, if not yet done.
void prepare_allocator();
bool is_allocator_prepared();
extern RealOperators real_operators;

// The bootstrap arena serves the calls made while the real functions are looked up: they are ours,
// not the program's. Its memory is zeroed and never reused. Null when it is used up.
void* arena_allocate(size_t alignment, size_t size);
size_t arena_block_size(const void* block);

inline constexpr size_t kArenaBytes = 64 << 10;
extern char arena[kArenaBytes];

inline bool in_arena(const void* block) {
  return reinterpret_cast<uintptr_t>(block) - reinterpret_cast<uintptr_t>(arena) < kArenaBytes;
}

}  // namespace heaptape::recorder
