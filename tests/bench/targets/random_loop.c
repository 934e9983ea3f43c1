// Random mallocs and frees, half and half, as tight as a loop can be: random_loop [EVENTS]. Prints
// the nanoseconds for each.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char** argv) {
  static void* slots[4096];
  uint64_t x = 88172645463325252;
  const long events = argc > 1 ? atol(argv[1]) : 20000000;
  struct timespec begin;
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (long i = 0; i < events; i++) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    void** slot = &slots[x & 4095];
    if (*slot != NULL) {
      free(*slot);
      *slot = NULL;
    } else {
      *slot = malloc(16 + ((x >> 20) & 1023));
    }
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  const double seconds = (double)(end.tv_sec - begin.tv_sec);
  printf("%f\n", (seconds * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / (double)events);
  return 0;
}
