/* A program whose blocks take every way through glibc's malloc: thread cache, bins, the top of the
 * heap and its trimming, mappings that grow, shrink and move, all aligned calls. At its end it
 * prints what mallinfo2 says of its memory. It prints without stdio, which would allocate. */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOTS 2000

static void* slots[SLOTS];
static unsigned long long state = 42;

static size_t below(size_t limit) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (size_t)(state >> 33) % limit;
}

static size_t any_size(void) {
  switch (below(100)) {
    case 0:
      return below(600000);
    case 1:
    case 2:
      return below(20000);
    default:
      return below(500);
  }
}

static void* any_block(void) {
  const size_t size = any_size();
  void* block = NULL;
  switch (below(12)) {
    case 0:
      return calloc(1 + below(20), 1 + size / 20);
    case 1:
      return memalign((size_t)16 << below(12), size);
    case 2:
      return posix_memalign(&block, (size_t)8 << below(10), size) == 0 ? block : NULL;
    case 3:
      return aligned_alloc(64, size);
    case 4:
      return below(20) == 0 ? valloc(size) : malloc(size);
    case 5:
      return below(20) == 0 ? pvalloc(size) : malloc(size);
    default:
      return malloc(size);
  }
}

static void random_calls(int count) {
  while (count-- > 0) {
    void** slot = &slots[below(SLOTS)];
    if (*slot == NULL) {
      *slot = any_block();
    } else if (below(4) == 0) {
      void* block = realloc(*slot, 1 + any_size());
      if (block != NULL) *slot = block;
    } else {
      free(*slot);
      *slot = NULL;
    }
  }
}

/* Mappings: more than glibc's first threshold, resized by mremap, freed to raise the threshold. */
static void mapped_blocks(void) {
  void* blocks[20];
  for (size_t i = 0; i < 20; ++i) blocks[i] = malloc(((size_t)200 << 10) * (i + 1));
  for (size_t i = 0; i < 20; ++i) blocks[i] = realloc(blocks[i], ((size_t)300 << 10) * (20 - i));
  for (size_t i = 0; i < 20; ++i) blocks[i] = realloc(blocks[i], (size_t)130 << 10);
  for (size_t i = 0; i < 20; i += 2) free(blocks[i]);
  for (size_t i = 1; i < 20; i += 2) blocks[i] = realloc(blocks[i], (size_t)40 << 20);
  for (size_t i = 1; i < 20; i += 2) free(blocks[i]);
}

/* More than 128 KiB free at the end of the heap go back to the system, several times. */
static void trimmed_top(void) {
  for (int round = 0; round < 5; ++round) {
    void* blocks[64];
    for (int i = 0; i < 64; ++i) blocks[i] = malloc(16000);
    for (int i = 0; i < 64; ++i) free(blocks[i]);
  }
}

int main(void) {
  trimmed_top();
  random_calls(100000);
  mapped_blocks();
  trimmed_top();
  random_calls(100000);
  for (int i = 0; i < SLOTS; i += 3) {
    free(slots[i]);
    slots[i] = NULL;
  }
  const struct mallinfo2 info = mallinfo2();
  char text[100];
  const int length = snprintf(text, sizeof text, "%zu %zu\n", info.arena, info.hblkhd);
  return write(STDOUT_FILENO, text, (size_t)length) == length ? 0 : 1;
}
