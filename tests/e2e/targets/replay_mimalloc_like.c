/* What mimalloc's library exports, as far as it is known by it, with a version of its own: see
 * families_test.cc. VERSION is that of mi_version; 0: it ends the process. */
#include <stdlib.h>

#include "replay_malloc.h"

void* malloc(size_t size) {
  return bump(size);
}

void* mi_malloc(size_t size) {
  return bump(size);
}

int mi_version(void) {
  if (VERSION == 0) abort();
  return VERSION;
}

#include "replay_rest.h"
