/* Calls malloc before anything else of its program runs. */
#include <stdlib.h>

static void* volatile block;

__attribute__((constructor)) void allocate_early(void) {
  block = malloc(10);
}
