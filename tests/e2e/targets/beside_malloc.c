/* Keeps memory of malloc and memory of mmap, of which the arguments say how many MiB: in blocks of
 * 1,000 bytes, in one block, and beside malloc. Waits until it was sampled so, and tells what
 * /proc/self/smaps_rollup says of anonymous memory, in kB. Ends without giving anything back. */
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

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const size_t beside = mebibytes(argv[3]);
  /* Far from malloc's: the kernel joins neighbours that are alike. */
  char* const mapped = mmap((void*)0x100000000000, beside + 4096, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return 3;
  memset(mapped, 1, beside);
  for (size_t bytes = 0; bytes < mebibytes(argv[1]); bytes += kSmall)
    memset(malloc(kSmall), 1, kSmall);
  memset(malloc(mebibytes(argv[2])), 1, mebibytes(argv[2]));
  const struct timespec wait = {0, kSampledWithinMs * 1000000L};
  nanosleep(&wait, NULL);
  printf("%ld\n", anonymous_kb());
  fflush(stdout);
  _exit(0);
}
