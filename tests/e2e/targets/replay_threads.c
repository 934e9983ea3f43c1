/* Threads one after another, each alone while it runs: what the next one finds depends on what the
 * one before left when it ended. They free each other's blocks and those of the first thread. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

enum { kSlots = 300, kThreads = 12, kCalls = 6000 };

static void* blocks[kSlots];
static uint64_t state = 88172645463325252u;

static size_t below(size_t limit) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (state >> 11) % limit;
}

static void* work(void* unused) {
  for (int i = 0; i < kCalls; ++i) {
    void** const block = &blocks[below(kSlots)];
    const size_t size = 1 + below(below(8) == 0 ? 5000 : 300);
    if (*block == NULL) {
      *block = malloc(size);
    } else if (below(4) == 0) {
      *block = realloc(*block, size);
    } else {
      free(*block);
      *block = NULL;
    }
  }
  return unused;
}

int main(void) {
  work(NULL);
  for (int i = 0; i < kThreads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) != 0) return 3;
    pthread_join(thread, NULL);
    work(NULL);
  }
  _exit(0);
}
