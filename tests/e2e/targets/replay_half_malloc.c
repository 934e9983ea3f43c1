/* A library with malloc but without free. */
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
