// Stacks for the worker's own threads, apart from the memory that the allocator under test maps,
// and thread-local storage that takes nothing from its heap. Free of the C++ run-time library.
#pragma once

#include <stddef.h>

namespace heaptape::allocators {

struct ThreadStack {
  void* base = nullptr;  // null: there is no memory
  size_t bytes = 0;
};

// For pthread_attr_setstack. What a thread began with such a stack needs for its thread-local
// storage lies in it, too, so that pthread_create calls no malloc. One thread at a time.
ThreadStack take_stack();
// `base` is that of a thread that was joined. The next one gets it: the most recent first.
void give_back_stack(void* base);

}  // namespace heaptape::allocators
