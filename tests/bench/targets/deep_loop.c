// Random mallocs and frees from the bottom of a stack: deep_loop [EVENTS] [FRAMES]. The frames have
// no frame pointers, and unlike sizes.
#include <stdint.h>
#include <stdlib.h>

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif

static void* slots[4096];
static uint64_t x = 88172645463325252;

static void keep(const volatile void* memory) {
  __asm__ volatile("" : : "r"(memory) : "memory");
}

APART static void* get(size_t size) {
  void* block = malloc(size);
  keep(block);
  return block;
}

APART static void* get_cleared(size_t size) {
  char* block = get(size);
  keep(block);
  block[0] = 0;
  return block;
}

APART static void loop(long events) {
  for (long i = 0; i < events; i++) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    void** slot = &slots[x & 4095];
    const size_t size = 16 + ((x >> 20) & 1023);
    if (*slot != NULL) {
      free(*slot);
      *slot = NULL;
    } else {
      *slot = (x >> 40 & 1) != 0 ? get(size) : get_cleared(size);
    }
  }
}

APART static void further(long events, long frames);
APART static void further_in_a_large_frame(long events, long frames) {
  volatile char room[200];
  room[0] = 1;
  further(events, frames);
  keep(room);
}
APART static void further(long events, long frames) {
  if (frames <= 1) {
    loop(events);
  } else {
    further_in_a_large_frame(events, frames - 2);
  }
  keep(&frames);
}

int main(int argc, char** argv) {
  further(argc > 1 ? atol(argv[1]) : 20000000, argc > 2 ? atol(argv[2]) : 20);
  return 0;
}
