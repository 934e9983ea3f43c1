/* A program with a mallctl of its own, on whatever allocator: it stays the program's. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((visibility("default"))) int mallctl(const char* name, void* old, size_t* old_bytes,
                                                   void* value, size_t bytes) {
  printf("own %s\n", name);
  return old == NULL && old_bytes == NULL && value == NULL && bytes == 0 ? 0 : 1;
}

int main(void) {
  int (*volatile call)(const char*, void*, size_t*, void*, size_t) = mallctl;
  void* block = malloc(100);
  call("arena.0.purge", NULL, NULL, NULL, 0);
  free(block);
  return 0;
}
