// Which functions of the malloc family the library under test has. A missing one would be libc's,
// and a block from libc's malloc would crash the library when it frees it. Free of the C++ run-time
// library.
#pragma once

#include <dlfcn.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "allocators/replay_op.h"

namespace heaptape::allocators {

// Each true if the library that serves malloc provides it.
struct EntryPoints {
  bool aligned_alloc = false;
  bool memalign = false;
  bool posix_memalign = false;
  bool valloc = false;
  bool pvalloc = false;
  bool malloc_usable_size = false;
};

// Whether `function`, which may be null, comes from the object loaded at `library`.
template <typename Function>
bool is_in(const void* library, Function* function) {
  Dl_info info = {};
  return dladdr(reinterpret_cast<void*>(function), &info) != 0 && info.dli_fbase == library;
}

// `library` is where the object with malloc is loaded. Returns the name of a missing function
// without which nothing can be replayed, or null.
const char* find_entry_points(const void* library, EntryPoints& entry_points);

// For neither malloc nor realloc. An aligned call that the library lacks is replaced by one that it
// has; null if it has none, or no room.
void* allocate_otherwise(const EntryPoints& entry_points, const ReplayOp& op);

// These two are inline because they run once per event, inside the timed part.
inline void* allocate(const EntryPoints& entry_points, const ReplayOp& op) {
  if (op.kind == ReplayKind::kMalloc) [[likely]]
    return malloc(op.size);
  return allocate_otherwise(entry_points, op);
}

// For a live block; `otherwise` if the library does not tell.
inline uint64_t usable_bytes(const EntryPoints& entry_points, void* block, uint64_t otherwise) {
  return entry_points.malloc_usable_size ? malloc_usable_size(block) : otherwise;
}

}  // namespace heaptape::allocators
