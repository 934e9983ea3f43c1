// Its dlsym allocates, as those of some C libraries do, so that it gets blocks before the recorder
// is ready. They are resized, and freed, later and by other threads. Ends with 0 if they always
// held what was in them. Calls of its own that a tape has: two of 1001 bytes, and two of 1003.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { kBlocks = 6, kBytes = 500 };
static char* early[kBlocks];
static int count;

static void make_early_blocks(void) {
  for (; count < kBlocks; ++count) {
    early[count] = count % 2 == 0 ? malloc(kBytes) : calloc(5, kBytes / 5);
    if (early[count] == NULL || (count % 2 != 0 && early[count][kBytes - 1] != 0)) abort();
    memset(early[count], 'a' + count, kBytes);
    early[count] = realloc(early[count], kBytes);
  }
}

// Jumps to libc's, which goes by where it is to return to.
void* dlsym(void* restrict library, const char* restrict name) {
  static void* (*libcs)(void*, const char*);
  if (libcs == NULL) {
    void* found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    if (found == NULL) abort();
    memcpy(&libcs, &found, sizeof libcs);
    make_early_blocks();
  }
  return libcs(library, name);
}

static int holds(const char* block, int number, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    if (block[i] != 'a' + number) return 0;
  }
  return 1;
}

static void* resize(void* wrong) {
  char* larger = realloc(early[0], 1001);
  char* moved = realloc(early[1], 1001);
  if (!holds(larger, 0, kBytes) || !holds(moved, 1, kBytes)) return wrong;
  free(moved);
  free(early[2]);
  early[0] = larger;
  return NULL;
}

int main(void) {
  free(malloc(1003));
  if (count != kBlocks) return 3;
  for (int i = 0; i < kBlocks; ++i) {
    if (!holds(early[i], i, kBytes)) return 4;
  }
  pthread_t thread;
  void* wrong = NULL;
  if (pthread_create(&thread, NULL, resize, "wrong") != 0) return 5;
  pthread_join(thread, &wrong);
  if (wrong != NULL || !holds(early[5], 5, kBytes)) return 6;
  free(early[0]);
  free(early[3]);
  free(malloc(1003));
  return 0;
}
