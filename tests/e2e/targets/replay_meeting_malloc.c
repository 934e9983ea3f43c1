/* A library whose malloc waits, for 2 s at most, until two threads are in it; malloc_usable_size
 * tells whether they met: 2, else 1. */
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "replay_malloc.h"

static atomic_int inside;
static atomic_flag bumping = ATOMIC_FLAG_INIT;

static void* bump_alone(void* old, size_t size) {
  while (atomic_flag_test_and_set(&bumping)) {
  }
  void* block = bump_again(old, size < 16 ? 16 : size);
  atomic_flag_clear(&bumping);
  return block;
}

void* malloc(size_t size) {
  ++inside;
  int met = 0;
  for (long tries = 0; tries < 20000 && !met; ++tries) {
    met = inside >= 2;
    if (!met) nanosleep(&(struct timespec){0, 100000}, NULL);
  }
  uint64_t* block = bump_alone(NULL, size);
  *block = met ? 2 : 1;
  return block;
}
void* calloc(size_t count, size_t size) {
  return malloc(count * size);
}
void* realloc(void* old, size_t size) {
  return bump_alone(old, size);
}
void free(void* block) {
  (void)block;
}
size_t malloc_usable_size(void* block) {
  return *(uint64_t*)block;
}
