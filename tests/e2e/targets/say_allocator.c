// Asks the library that serves its malloc, by its own functions, and prints the answers: the oracle
// for the allocator on a tape.
#include <gnu/libc-version.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((weak)) int mallctl(const char* name, void* old_value, size_t* old_bytes,
                                  void* new_value, size_t new_bytes);
__attribute__((weak)) int mi_version(void);
__attribute__((weak)) const char* tc_version(int* major, int* minor, const char** patch);

int main(void) {
  free(malloc(301));
  const char* text = NULL;
  size_t bytes = sizeof text;
  if (mallctl != NULL && mallctl("version", &text, &bytes, NULL, 0) == 0) {
    printf("jemalloc %s\n", text);
  } else if (mi_version != NULL) {
    printf("mimalloc %d\n", mi_version());
  } else if (tc_version != NULL) {
    printf("%s\n", tc_version(NULL, NULL, NULL));
  } else {
    printf("glibc %s\n", gnu_get_libc_version());
  }
  return 0;
}
