/* Steers the allocator that serves malloc by functions that only it has, as far as it has them, and
   says which those are. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define WEAK __attribute__((weak))
WEAK int mallctl(const char*, void*, size_t*, void*, size_t);
WEAK int mallctlnametomib(const char*, size_t*, size_t*);
WEAK int mallctlbymib(const size_t*, size_t, void*, size_t*, void*, size_t);
WEAK void mi_collect(bool);
WEAK void mi_option_set(int, long);
WEAK void mi_option_enable(int);
WEAK void MallocExtension_ReleaseFreeMemory(void);
WEAK void MallocExtension_ReleaseToSystem(size_t);
WEAK int MallocExtension_SetNumericProperty(const char*, size_t);

static void* blocks[1000];

static void make_and_free(void) {
  for (int i = 0; i < 1000; ++i) {
    blocks[i] = malloc(50000);
    memset(blocks[i], 1, 50000);
  }
  for (int i = 0; i < 1000; ++i) free(blocks[i]);
}

static int steer_jemalloc(void) {
  ssize_t never = -1;
  ssize_t at_once = 0;
  bool no = false;
  ssize_t old = 0;
  size_t bytes = sizeof old;
  size_t mib[3];
  size_t length = 3;
  /* Reads are not recorded, nor are calls that fail. */
  if (mallctl("arenas.dirty_decay_ms", &old, &bytes, NULL, 0) != 0) return 1;
  if (mallctl("arena.9999.purge", NULL, NULL, NULL, 0) == 0) return 1;
  if (mallctl("arena.0.dirty_decay_ms", NULL, NULL, &never, sizeof never) != 0) return 1;
  make_and_free();
  if (mallctlnametomib("arena.0.purge", mib, &length) != 0) return 1;
  unsigned arenas = 0;
  size_t arenas_bytes = sizeof arenas;
  if (mallctl("arenas.narenas", &arenas, &arenas_bytes, NULL, 0) != 0) return 1;
  mib[1] = arenas; /* all of them, as redis says it */
  if (mallctlbymib(mib, length, NULL, NULL, NULL, 0) != 0) return 1;
  int (*volatile pointer)(const char*, void*, size_t*, void*, size_t) = mallctl;
  if (pointer("thread.tcache.flush", NULL, NULL, NULL, 0) != 0) return 1;
  if (mallctl("thread.tcache.enabled", NULL, NULL, &no, sizeof no) != 0) return 1;
  length = 3;
  if (mallctlnametomib("arena.0.muzzy_decay_ms", mib, &length) != 0) return 1;
  return mallctlbymib(mib, length, NULL, NULL, &at_once, sizeof at_once);
}

int main(void) {
  printf("%s%s%s\n", mallctl != NULL ? "jemalloc" : "", mi_collect != NULL ? "mimalloc" : "",
         MallocExtension_ReleaseFreeMemory != NULL ? "tcmalloc" : "");
  if (mallctl != NULL) return steer_jemalloc();
  make_and_free();
  if (mi_collect != NULL) {
    mi_option_set(15, 20);
    mi_option_enable(6);
    mi_collect(true);
  }
  if (MallocExtension_ReleaseFreeMemory != NULL) {
    MallocExtension_SetNumericProperty("tcmalloc.max_total_thread_cache_bytes", 1 << 20);
    MallocExtension_SetNumericProperty("tcmalloc.aggressive_memory_decommit", 0);
    MallocExtension_ReleaseToSystem(4096);
    MallocExtension_ReleaseFreeMemory();
  }
  return 0;
}
