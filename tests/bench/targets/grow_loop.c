// Blocks that grow step by step, as strings, buffers and arrays do: grow_loop STEP LIMIT TIMES.
// Each block begins with one step, gains another at each resize up to the limit, and its new bytes
// are written. Prints the nanoseconds for each call.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const size_t step = strtoul(argv[1], NULL, 10);
  const size_t limit = strtoul(argv[2], NULL, 10);
  const long times = strtol(argv[3], NULL, 10);
  if (step == 0) return 2;
  long calls = 0;
  struct timespec begin;
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (long i = 0; i < times; ++i) {
    char* block = NULL;
    for (size_t size = step; size <= limit; size += step, ++calls) {
      block = realloc(block, size);
      if (block == NULL) return 1;
      memset(block + size - step, 1, step);
    }
    free(block);
    ++calls;
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  const double seconds = (double)(end.tv_sec - begin.tv_sec);
  printf("%f\n", (seconds * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / (double)calls);
  return 0;
}
