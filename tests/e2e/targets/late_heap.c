/* late_heap START: makes 5,000 blocks of 1,000 bytes in its main thread, and 3,000 in another,
   which makes no call from then on; runs the command START, which begins the recording. Then makes
   a block of 7,000 bytes, resizes the first of the earlier blocks to 6,000 bytes, which moves it,
   makes 201 blocks of 5,000 bytes, and frees the first, every second of these, and 1,000 earlier
   ones. Prints the bytes of glibc's heaps from before the recording that it has not handed out
   again. */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { EARLIER = 5000, OTHERS = 3000, LATER = 201, FREED = 1000 };

static pthread_barrier_t step;
static char* earlier[EARLIER];
static char* others[OTHERS];
static char* later[LATER];
static uintptr_t end_of_heap;
static uintptr_t reused;

static void* live_in_an_arena(void* unused) {
  for (int i = 0; i < OTHERS; ++i) others[i] = malloc(1000);
  pthread_barrier_wait(&step); /* the start follows */
  pthread_barrier_wait(&step); /* never */
  return unused;
}

/* Counts the part of a block that was the heap's before the start. */
static char* counted(char* block, size_t bytes) {
  const uintptr_t chunk = (bytes + 8 + 15) / 16 * 16;
  const uintptr_t begin = (uintptr_t)block;
  if (begin < end_of_heap) reused += end_of_heap - begin < chunk ? end_of_heap - begin : chunk;
  return block;
}

int main(int count, char** arguments) {
  if (count < 2) return 2;
  for (int i = 0; i < EARLIER; ++i) earlier[i] = malloc(1000);
  pthread_barrier_init(&step, NULL, 2);
  pthread_t thread;
  pthread_create(&thread, NULL, live_in_an_arena, NULL);
  pthread_barrier_wait(&step);
  const uintptr_t before = mallinfo2().arena;
  end_of_heap = (uintptr_t)sbrk(0);
  if (system(arguments[1]) != 0) return 3;
  char* const first = counted(malloc(7000), 7000);
  counted(realloc(earlier[0], 6000), 6000);
  for (int i = 0; i < LATER; ++i) later[i] = counted(malloc(5000), 5000);
  for (int i = 1; i < LATER; i += 2) free(later[i]);
  free(first);
  for (int i = 0; i < FREED; ++i) free(earlier[2 * i + 2]);
  usleep(400000); /* for a sample of the end */
  dprintf(1, "%ju\n", (uintmax_t)(before - reused));
  _exit(0);
}
