// Leaves malloc by a jump, ten times, with 1,500 calls of its own (of 101 bytes, malloc and free)
// after each. Run on jumping_malloc.so.
//   jumps shallow|deep    deep: the calls come from further down the stack than the one left
#include <stdlib.h>
#include <string.h>

#include "tests/e2e/targets/jumping_malloc.h"

static __attribute__((noinline)) void allocate(void) {
  for (int i = 0; i < 750; ++i) free(malloc(101));
}

static __attribute__((noinline)) void allocate_deep(void) {
  volatile char frame[8192];
  frame[0] = 1;
  allocate();
  frame[1] = frame[0];
}

static __attribute__((noinline)) void leave_malloc(int deep) {
  volatile char frame[4096];
  frame[0] = 1;
  if (setjmp(jump_target) == 0) free(malloc(JUMP_SIZE));
  if (deep) allocate_deep();
  frame[1] = frame[0];
}

int main(int argc, char** argv) {
  const int deep = argc > 1 && strcmp(argv[1], "deep") == 0;
  for (int i = 0; i < 10; ++i) {
    leave_malloc(deep);
    if (!deep) allocate();
  }
  return 0;
}
