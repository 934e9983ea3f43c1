/* gperftools' names on a library that tells no version: see families_test.cc. */
#include <stdlib.h>

#include "replay_malloc.h"

void* malloc(size_t size) {
  return bump(size);
}

void* tc_malloc(size_t size) {
  return bump(size);
}

const char* tc_version(int* major, int* minor, const char** patch) {
  (void)major;
  (void)minor;
  (void)patch;
  return NULL;
}

#include "replay_rest.h"
