/* Run with libjemalloc.so.2 preloaded: prints its version, how many
 * bytes of metadata its first arena has, then "SIZE USABLE" of nallocx() wherever
 * the usable size changes from one byte to the next, up to 4 MiB, and of sizes at growing distances
 * above that. Prints nothing where it is not jemalloc that serves malloc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

typedef int Mallctl(const char* name, void* old, size_t* old_bytes, void* value, size_t bytes);
typedef size_t Nallocx(size_t size, int flags);

int main(void) {
  Mallctl* const mallctl = (Mallctl*)dlsym(RTLD_DEFAULT, "mallctl");
  Nallocx* const nallocx = (Nallocx*)dlsym(RTLD_DEFAULT, "nallocx");
  const char* version = NULL;
  size_t bytes = sizeof version;
  if (mallctl == NULL || nallocx == NULL) return 0;
  if (mallctl("version", &version, &bytes, NULL, 0) != 0) return 0;
  size_t base = 0;
  unsigned long epoch = 1;  // statistics of now
  bytes = sizeof base;
  mallctl("epoch", NULL, NULL, &epoch, sizeof epoch);
  mallctl("stats.arenas.0.base", &base, &bytes, NULL, 0);
  printf("%s\n%zu\n", version, base);
  size_t before = 0;
  size_t size = 1;
  for (; size <= (size_t)4 << 20; ++size) {
    const size_t usable = nallocx(size, 0);
    if (usable != before) printf("%zu %zu\n", size, usable);
    before = usable;
  }
  for (; size < (size_t)1 << 62; size += size / 50) printf("%zu %zu\n", size, nallocx(size, 0));
  return 0;
}
