/* A library that gives up when it is asked to give memory back, by mimalloc's function. */
#include <stdbool.h>
#include <stdlib.h>

#include "replay_malloc.h"

void mi_collect(bool force) {
  (void)force;
  abort();
}

void* malloc(size_t size) {
  return bump(size);
}
#include "replay_rest.h"
