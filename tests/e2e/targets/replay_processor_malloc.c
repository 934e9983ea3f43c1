/* A library with an rseq area of its own, as one with caches for each processor has. */
#include "replay_malloc.h"

__thread unsigned __rseq_abi[8] __attribute__((aligned(32)));

void* malloc(size_t size) {
  __rseq_abi[0] = 1;
  return bump(size);
}
#include "replay_rest.h"
