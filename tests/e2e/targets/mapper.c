/* The library of mappings.c: maps memory and fills it. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void* map_bytes(void* wanted, size_t bytes);
void* grow_break(size_t bytes);

void* map_bytes(void* wanted, size_t bytes) {
  void* const block =
      mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return block == MAP_FAILED ? NULL : memset(block, 1, bytes);
}

void* grow_break(size_t bytes) {
  void* const block = sbrk((intptr_t)bytes);
  return memset(block, 1, bytes);
}
