/* A library that has no memory to give. */
#include <stddef.h>

void* malloc(size_t size) {
  return (void)size, NULL;
}
void* calloc(size_t count, size_t size) {
  return (void)count, (void)size, NULL;
}
void* realloc(void* old, size_t size) {
  return (void)old, (void)size, NULL;
}
void free(void* block) {
  (void)block;
}
size_t malloc_usable_size(void* block) {
  return (void)block, 0;
}
