// Stacks for the worker's own threads, away from the memory that the allocator under test maps, and
// thread-local storage that takes nothing from its heap. Free of the C++ run-time library.
#pragma once

#include <stddef.h>

namespace heaptape::allocators {

struct ThreadStack {
  void* base = nullptr;  // null if there is no memory
  size_t bytes = 0;
};

// For pthread_attr_setstack. A thread started with such a stack has its thread-local storage in it,
// so that pthread_create calls no malloc. One thread at a time.
ThreadStack take_stack();
// `base` is that of a thread that was joined. The most recent is reused first.
void give_back_stack(void* base);

}  // namespace heaptape::allocators
