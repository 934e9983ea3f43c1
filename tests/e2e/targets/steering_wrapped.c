/* Calls a mallctl that it finds at the first call, and a library that calls it, too. */
#include <stddef.h>
#include <stdlib.h>

__attribute__((weak)) int mallctl(const char*, void*, size_t*, void*, size_t);
__attribute__((weak)) void purge_by_wrapper(void);

int main(void) {
  free(malloc(100));
  if (purge_by_wrapper == NULL) return 1;
  purge_by_wrapper();
  return mallctl("arena.0.purge", NULL, NULL, NULL, 0);
}
