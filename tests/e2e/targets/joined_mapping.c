/* Fills 24 MiB of its own right below the heap of a thread's arena, so that the kernel shows both
 * as one mapping, and waits until it was sampled so. Exits with 4 where they stay two. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const size_t own_bytes = (size_t)24 << 20;
static const uintptr_t heap_bytes = (uintptr_t)64 << 20; /* HEAP_MAX_SIZE of glibc */

static void* map_below(void* block) {
  char* const heap = (char*)((uintptr_t)block & ~(heap_bytes - 1));
  return mmap(heap - own_bytes, own_bytes, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
}

static int is_joined(const void* mapping, const void* block) {
  char line[256];
  unsigned long begin = 0;
  unsigned long end = 0;
  FILE* const maps = fopen("/proc/self/maps", "r");
  if (maps == NULL) return 0;
  while (fgets(line, sizeof line, maps) != NULL) {
    if (sscanf(line, "%lx-%lx", &begin, &end) == 2 && begin <= (uintptr_t)mapping &&
        (uintptr_t)mapping < end) {
      break;
    }
  }
  fclose(maps);
  return (uintptr_t)block < end;
}

static void* work(void* unused) {
  void* const block = malloc(3000);
  memset(block, 1, 3000);
  void* const own = map_below(block);
  if (own == MAP_FAILED || !is_joined(own, block)) _exit(4);
  memset(own, 1, own_bytes);
  const struct timespec wait = {0, 400000000L};
  nanosleep(&wait, NULL);
  free(malloc(100));
  _exit(0);
  return unused;
}

int main(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, work, NULL) != 0) return 3;
  pthread_join(thread, NULL);
  return 0;
}
