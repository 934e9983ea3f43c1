// Threads that pass blocks to each other and resize what others made, as fast as they can, so that
// an address goes from one thread's realloc straight into another's malloc. Prints how many calls
// of each kind they made; all their sizes are odd, those of libc are not.
//   thread_exchange THREADS ROUNDS
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kPlaces = 64 };

static _Atomic(void*) places[kPlaces];
static atomic_ulong mallocs, reallocs, frees;
static unsigned long rounds;

static uint64_t next_random(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

static size_t some_size(uint64_t* state) {
  return (next_random(state) % 600) | 1;
}

// What becomes of a block found in a place; `*made` counts per kind: malloc, realloc, free.
static void* change(void* block, uint64_t* state, unsigned long* made) {
  if (block == NULL) {
    ++made[0];
    return malloc(some_size(state));
  }
  if (next_random(state) % 3 == 0) {
    ++made[2];
    free(block);
    return NULL;
  }
  ++made[1];
  return realloc(block, some_size(state));
}

static void* exchange(void* argument) {
  uint64_t state = (uintptr_t)argument;
  unsigned long made[3] = {0, 0, 0};
  for (unsigned long i = 0; i < rounds; ++i) {
    void* block = atomic_exchange(&places[next_random(&state) % kPlaces], NULL);
    block = change(block, &state, made);
    block = atomic_exchange(&places[next_random(&state) % kPlaces], block);
    if (block != NULL) {
      ++made[2];
      free(block);
    }
  }
  atomic_fetch_add(&mallocs, made[0]);
  atomic_fetch_add(&reallocs, made[1]);
  atomic_fetch_add(&frees, made[2]);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  pthread_t threads[64];
  const int count = atoi(argv[1]);
  rounds = strtoul(argv[2], NULL, 10);
  for (int i = 0; i < count; ++i) {
    pthread_create(&threads[i], NULL, exchange, (void*)(uintptr_t)(i + 1));
  }
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  char text[128];
  setvbuf(stdout, text, _IOFBF, sizeof text);
  printf("%lu %lu %lu\n", mallocs, reallocs, frees);
  return 0;
}
