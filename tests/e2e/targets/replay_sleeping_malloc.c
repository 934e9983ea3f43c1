/* A library with a thread that wakes once a second; malloc_usable_size tells how often it had when
 * the block was made. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "replay_malloc.h"

static atomic_ullong woken;
static atomic_bool is_asleep;
static atomic_bool has_begun; /* until then, pthread_create itself calls malloc */

void* malloc(size_t size) {
  uint64_t* block = bump(size < 16 ? 16 : size);
  /* The time goes on with the next call, so that a thread that is not asleep yet would miss it. */
  for (int tries = 0; tries < 100000 && has_begun && !is_asleep; ++tries) sched_yield();
  if (block != NULL) *block = woken;
  return block;
}
void* calloc(size_t count, size_t size) {
  return malloc(count * size);
}
void* realloc(void* old, size_t size) {
  return bump_again(old, size);
}
void free(void* block) {
  (void)block;
}
size_t malloc_usable_size(void* block) {
  return *(uint64_t*)block;
}

static void* work(void* unused) {
  for (;;) {
    is_asleep = 1;
    usleep(1000000);
    is_asleep = 0;
    ++woken;
  }
  return unused;
}

__attribute__((constructor)) static void begin(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, work, NULL) != 0) return;
  has_begun = 1;
  pthread_detach(thread);
}
