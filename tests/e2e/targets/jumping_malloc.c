// An allocator to preload, in which a request for JUMP_SIZE bytes never returns, as if a signal
// handler had left it by siglongjmp(3).
#include <setjmp.h>
#include <stddef.h>

#include "tests/e2e/targets/jumping_malloc.h"

extern void* __libc_malloc(size_t);

jmp_buf jump_target;

void* malloc(size_t size) {
  if (size == JUMP_SIZE) longjmp(jump_target, 1);
  return __libc_malloc(size);
}
