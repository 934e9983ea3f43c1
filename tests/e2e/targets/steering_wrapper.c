/* Preloaded before an allocator: its mallctl is what the name means to the program, and to itself.
 */
#include <stddef.h>
#include <stdio.h>

int mallctl(const char* name, void* old, size_t* old_bytes, void* value, size_t bytes) {
  printf("wrapped %s\n", name);
  return old == NULL && old_bytes == NULL && value == NULL && bytes == 0 ? 0 : 1;
}

void purge_by_wrapper(void) {
  mallctl("arena.1.purge", NULL, NULL, NULL, 0);
}
