/* A library with a thread of its own that ends while it serves its tenth call: libc then gives the
 * thread's stack back by madvise, with all signals blocked. */
#include <pthread.h>

#include "replay_malloc.h"

static void* work(void* unused) {
  return unused;
}

void* malloc(size_t size) {
  static int calls;
  if (++calls == 10) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) == 0) pthread_join(thread, NULL);
  }
  return bump(size);
}
#include "replay_rest.h"
