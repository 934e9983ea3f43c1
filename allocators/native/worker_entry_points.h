// Which functions of the malloc family the library under test has. One that it lacks is libc's, and
// a block of libc's malloc would end the library that is asked to free it. Free of the C++ run-time
// library.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "allocators/replay_op.h"

namespace heaptape::allocators {

// Each true if it comes from the library that serves malloc.
struct EntryPoints {
  bool aligned_alloc = false;
  bool memalign = false;
  bool posix_memalign = false;
  bool valloc = false;
  bool pvalloc = false;
  bool malloc_usable_size = false;
};

// `library` is where the object with malloc is loaded. Returns the name of a function without which
// nothing can be replayed, or null.
const char* find_entry_points(const void* library, EntryPoints& entry_points);

// Not for realloc. An aligned call that the library lacks becomes another one that it has; null
// when it has none, or no room.
void* allocate(const EntryPoints& entry_points, const ReplayOp& op);

// Of a live block; `otherwise` where the library does not tell.
uint64_t usable_bytes(const EntryPoints& entry_points, void* block, uint64_t otherwise);

}  // namespace heaptape::allocators
