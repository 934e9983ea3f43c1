/* Keeps memory of malloc and memory of mmap, of which the arguments say how many MiB: in blocks of
 * 1,000 bytes, in one block, and beside malloc; a fourth: on the stack of each of two threads.
 * Waits until it was sampled so, and tells what /proc/self/smaps_rollup says of anonymous memory,
 * in kB. Ends without giving anything back. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { kSmall = 1000, kSampledWithinMs = 400 };

static size_t mebibytes(const char* text) {
  return (size_t)atol(text) << 20;
}

static long anonymous_kb(void) {
  char line[128];
  long kb = 0;
  FILE* const rollup = fopen("/proc/self/smaps_rollup", "r");
  if (rollup == NULL) return 0;
  while (fgets(line, sizeof line, rollup) != NULL) {
    if (sscanf(line, "Anonymous: %ld", &kb) == 1) break;
  }
  fclose(rollup);
  return kb;
}

/* Stays in a frame of `words[0]` MiB until it was sampled. */
static void* fill_stack(void* words) {
  const size_t bytes = mebibytes(*(char**)words);
  volatile char frame[bytes + 1];
  for (size_t i = 0; i <= bytes; i += 4096) frame[i] = 1;
  memset(malloc(kSmall), frame[bytes], kSmall);
  const struct timespec wait = {0, kSampledWithinMs * 1000000L};
  nanosleep(&wait, NULL);
  return NULL;
}

static void fill_two_stacks(char** words) {
  pthread_t second;
  if (pthread_create(&second, NULL, fill_stack, words) != 0) return;
  fill_stack(words);
  pthread_join(second, NULL);
}

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) return 2;
  const size_t beside = mebibytes(argv[3]);
  /* Far from malloc's: the kernel joins neighbours that are alike. */
  char* const mapped = mmap((void*)0x100000000000, beside + 4096, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return 3;
  memset(mapped, 1, beside);
  for (size_t bytes = 0; bytes < mebibytes(argv[1]); bytes += kSmall)
    memset(malloc(kSmall), 1, kSmall);
  memset(malloc(mebibytes(argv[2])), 1, mebibytes(argv[2]));
  if (argc == 5) fill_two_stacks(argv + 4);
  const struct timespec wait = {0, kSampledWithinMs * 1000000L};
  nanosleep(&wait, NULL);
  printf("%ld\n", anonymous_kb());
  fflush(stdout);
  _exit(0);
}
