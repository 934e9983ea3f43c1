// Exports a malloc and the marks of jemalloc and of mimalloc.
#include <stddef.h>

const char* malloc_conf = "";

int mallctl(void) {
  return 0;
}
int mi_version(void) {
  return 0;
}
void* mi_malloc(size_t bytes) {
  (void)bytes;
  return NULL;
}
void* malloc(size_t bytes) {
  return mi_malloc(bytes);
}
