// Prints errno after every kind of call, each begun with a value of its own.
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static char text[4096];
static int used;
static void* last;

#define CALL(expression)                                                                       \
  do {                                                                                         \
    errno = 200;                                                                               \
    last = (void*)(uintptr_t)(expression);                                                     \
    const int error = errno;                                                                   \
    used += snprintf(text + used, sizeof text - (size_t)used, "%s: %d\n", #expression, error); \
  } while (0)

static uintptr_t free_it(void* block) {
  free(block);
  return 0;
}

int main(void) {
  const volatile size_t huge = PTRDIFF_MAX;
  void* block = NULL;
  CALL(malloc(10));
  CALL(free_it(last));
  CALL(malloc(huge));
  CALL(calloc(2, 5));
  CALL(realloc(last, 40000));
  CALL(realloc(last, huge) == NULL ? last : NULL);
  CALL(reallocarray(last, 3, 5));
  CALL(free_it(last));
  CALL(calloc(huge, 4));
  CALL(reallocarray(NULL, huge, 4));
  CALL(aligned_alloc(64, 64));
  CALL(free_it(last));
  CALL(memalign(64, huge));
  CALL(posix_memalign(&block, 64, 64));
  CALL(free_it(block));
  CALL(posix_memalign(&block, 3, 64));
  CALL(posix_memalign(&block, 64, huge));
  CALL(valloc(1));
  CALL(free_it(last));
  CALL(pvalloc(1));
  CALL(free_it(last));
  CALL(free_it(NULL));
  fwrite(text, 1, (size_t)used, stdout);
  return 0;
}
