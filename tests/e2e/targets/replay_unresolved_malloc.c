/* A library that the loader refuses: nobody has what it needs. */
#include <stddef.h>

extern void* replay_found_nowhere(size_t size);

void* malloc(size_t size) {
  return replay_found_nowhere(size);
}
void* calloc(size_t count, size_t size) {
  return replay_found_nowhere(count * size);
}
void* realloc(void* old, size_t size) {
  return (void)old, replay_found_nowhere(size);
}
void free(void* block) {
  (void)block;
}
