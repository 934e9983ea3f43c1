/* A library that serves malloc, with the texts of an allocator and of a runtime's heap inside. */
#include <stddef.h>

const char* const texts[] = {"<jemalloc>: Error in munmap", "opt.narenas", "max_old_space_size",
                             "Mark-Compact (reduce)"};

void* malloc(size_t bytes) {
  (void)bytes;
  return NULL;
}
