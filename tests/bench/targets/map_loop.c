// Maps 64 KiB, writes to them and unmaps them, again and again: map_loop TIMES. Prints the
// nanoseconds for each time.
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const long times = strtol(argv[1], NULL, 10);
  free(malloc(1));  // joins a recording
  struct timespec begin;
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (long i = 0; i < times; ++i) {
    volatile char* const block =
        mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) return 1;
    block[0] = 1;
    munmap((void*)block, 65536);
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  const double seconds = (double)(end.tv_sec - begin.tv_sec);
  const double nanoseconds = (double)(end.tv_nsec - begin.tv_nsec);
  printf("%.0f ns\n", (seconds * 1e9 + nanoseconds) / (double)times);
  return 0;
}
