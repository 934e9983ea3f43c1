/* steering WHAT: tells glibc's malloc what to do, makes and frees 100 MB between blocks that stay,
   and says how many bytes of memory that took and left. WHAT is any of
   threshold, pad, fast, perturb, unmapped, trim, keep (a trim that keeps 4 MB), refused, none,
   forked (as threshold, and a child does the rest). */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 1000, BLOCK_BYTES = 100000 };

static char* blocks[BLOCKS];
static void* pins[BLOCKS];

static long resident_bytes(void) {
  char text[128] = {0};
  FILE* file = fopen("/proc/self/statm", "r");
  setvbuf(file, NULL, _IONBF, 0);
  long pages = 0;
  if (fgets(text, sizeof text, file) != NULL) sscanf(text, "%*d %ld", &pages);
  fclose(file);
  return pages * 4096;
}

static int is(const char* argument, const char* what) {
  return strcmp(argument, what) == 0;
}

int main(int count, char** arguments) {
  const char* what = count > 1 ? arguments[1] : "none";
  resident_bytes(); /* what stdio takes is there from now on */
  const long before = resident_bytes();
  errno = 77;
  if (is(what, "threshold") && mallopt(M_MMAP_THRESHOLD, 65536) != 1) return 1;
  if (is(what, "pad") && mallopt(M_TOP_PAD, 64 << 20) != 1) return 1;
  if (is(what, "fast") && mallopt(M_MXFAST, 0) != 1) return 1;
  if (is(what, "perturb") && mallopt(M_PERTURB, 85) != 1) return 1;
  if (is(what, "unmapped") && mallopt(M_MMAP_MAX, 0) != 1) return 1;
  if (is(what, "refused") && mallopt(M_MXFAST, 1000) != 0) return 1;
  if (errno != 77) return 2;
  if (is(what, "forked")) {
    mallopt(M_MMAP_THRESHOLD, 1000);
    mallopt(M_MMAP_THRESHOLD, 65536);
    malloc_trim(0);
    if (fork() != 0) return wait(NULL) < 0;
  }
  for (int i = 0; i < BLOCKS; ++i) {
    blocks[i] = malloc(BLOCK_BYTES + i);
    memset(blocks[i], 1, BLOCK_BYTES);
    pins[i] = malloc(40);
  }
  const long peak = resident_bytes();
  for (int i = 0; i < BLOCKS; ++i) free(blocks[i]);
  if (is(what, "trim") && malloc_trim(0) != 1) return 1;
  if (is(what, "keep")) {
    free(pins[BLOCKS - 1]);
    malloc_trim(4 << 20);
  }
  printf("%ld %ld\n", peak - before, resident_bytes() - before);
  return 0;
}
