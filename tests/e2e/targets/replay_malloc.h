/* A bump allocator for the libraries that replays are tested with: 16-byte aligned blocks, each
 * with its size before it, in an arena that never ends within a test. */
#ifndef REPLAY_MALLOC_H
#define REPLAY_MALLOC_H

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#define ARENA_BYTES ((size_t)64 << 20)

static char* arena;
static size_t used;

static char* arena_begin(void) {
  if (arena == NULL) {
    arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  return arena;
}

static void* bump(size_t size) {
  const size_t room = size <= ARENA_BYTES ? ((size + 15) & ~(size_t)15) + 16 : size;
  if (room > ARENA_BYTES - used) return NULL;
  char* block = arena_begin() + used + 16;
  used += room;
  *(size_t*)(block - 8) = size;
  return block;
}

static inline void* bump_again(void* old, size_t size) {
  void* block = bump(size);
  if (block != NULL && old != NULL) {
    const size_t old_size = *(size_t*)((char*)old - 8);
    memcpy(block, old, old_size < size ? old_size : size);
  }
  return block;
}

#endif
