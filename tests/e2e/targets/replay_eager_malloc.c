/* A library that takes its memory when it is loaded, and allocates then. */
#include "replay_malloc.h"

void* malloc(size_t size) {
  return bump(size);
}
#include "replay_rest.h"

__attribute__((constructor)) static void begin(void) {
  for (int i = 0; i < 1000; ++i) free(malloc(100));
}
