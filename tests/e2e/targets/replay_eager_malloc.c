/* A library that takes its memory when it is loaded, and allocates then. */
#include "replay_malloc.h"

void* malloc(size_t size) {
  return bump(size);
}
void* calloc(size_t count, size_t size) {
  return bump(count * size);
}
void* realloc(void* old, size_t size) {
  return bump_again(old, size);
}
void free(void* block) {
  (void)block;
}

__attribute__((constructor)) static void begin(void) {
  for (int i = 0; i < 1000; ++i) free(malloc(100));
}
