/* Calls malloc before anything else of its program runs, and before anything else in a child. */
#include <pthread.h>
#include <stdlib.h>

static void* volatile block;

static void allocate_in_child(void) {
  block = malloc(207);
  free(block);
}

__attribute__((constructor)) void allocate_early(void) {
  block = malloc(10);
  pthread_atfork(NULL, NULL, allocate_in_child);
}
