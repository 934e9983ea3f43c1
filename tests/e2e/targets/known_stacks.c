/* Allocates from functions that call each other, all with frame pointers, and says where these
 * begin: "NAME ADDRESS" in a line each. Sizes tell the stacks apart. */
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif

static void keep(void* block) {
  __asm__ volatile("" : : "r"(block) : "memory");
}

APART void leaf(size_t size) {
  void* block = malloc(size);
  keep(block);
  free(block);
}
APART void middle(size_t size) {
  leaf(size);
  keep(NULL);
}
APART void outer(size_t size) {
  middle(size);
  leaf(size + 1);
  keep(NULL);
}
/* The frame of leaf lies where outer's had it, and so does middle's. */
APART void other(size_t size) {
  middle(size);
  leaf(size + 1);
  keep(NULL);
}
APART void deep(size_t size, int depth) {
  if (depth > 0) {
    deep(size, depth - 1);
  } else {
    leaf(size);
  }
  keep(NULL);
}
APART void resizing(size_t size) {
  void* block = realloc(calloc(1, 8), size);
  keep(block);
  free(block);
}
static void* in_thread(void* unused) {
  outer(4000);
  return unused;
}

static void tell(const char* name, uintptr_t address) {
  printf("%s %" PRIxPTR "\n", name, address);
}

int main(void) {
  pthread_t thread;
  tell("leaf", (uintptr_t)leaf);
  tell("middle", (uintptr_t)middle);
  tell("outer", (uintptr_t)outer);
  tell("other", (uintptr_t)other);
  tell("deep", (uintptr_t)deep);
  tell("resizing", (uintptr_t)resizing);
  tell("in_thread", (uintptr_t)in_thread);
  tell("tell", (uintptr_t)tell);
  tell("main", (uintptr_t)main);
  tell("keep", (uintptr_t)keep);
  for (int round = 0; round < 3; ++round) {
    outer(1000);
    other(2000);
  }
  deep(3000, 100);
  resizing(5000);
  if (pthread_create(&thread, NULL, in_thread, NULL) == 0) pthread_join(thread, NULL);
  return 0;
}
