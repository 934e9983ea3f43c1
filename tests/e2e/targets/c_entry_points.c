// Calls every allocation function of C, in many ways, and prints what a tape of it must hold.
#define _GNU_SOURCE
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include "oracle.h"

static const size_t kHuge = PTRDIFF_MAX;  // no allocator has so much

static void* call_malloc(size_t size) {
  return did_allocate("malloc", size, malloc(size));
}

static void* call_calloc(size_t count, size_t size, uint64_t product) {
  return did_allocate("calloc", product, calloc(count, size));
}

static void* call_realloc(void* old, size_t size) {
  return did_resize("realloc", old, size, realloc(old, size));
}

static void* call_reallocarray(void* old, size_t count, size_t size, uint64_t product) {
  return did_resize("reallocarray", old, product, reallocarray(old, count, size));
}

static void call_free(void* block) {
  did_release("free", block);
  free(block);
}

static void* call_aligned_alloc(size_t alignment, size_t size) {
  return did_align("aligned_alloc", alignment, size, aligned_alloc(alignment, size));
}

static void* call_memalign(size_t alignment, size_t size) {
  return did_align("memalign", alignment, size, memalign(alignment, size));
}

static void* call_posix_memalign(size_t alignment, size_t size) {
  static char untouched;
  void* block = &untouched;  // what a call that fails must leave, and nobody may record
  const int error = posix_memalign(&block, alignment, size);
  return did_align("posix_memalign", alignment, size, error == 0 ? block : NULL);
}

static void plain_allocations(void) {
  void* blocks[] = {call_malloc(0),
                    call_malloc(1),
                    call_malloc(24),
                    call_malloc(100000),
                    call_malloc(3 << 20),
                    call_calloc(3, 5, 15),
                    call_calloc(0, 8, 0),
                    call_malloc(kHuge),
                    call_calloc(1, kHuge, kHuge),
                    call_calloc(SIZE_MAX, 2, UINT64_MAX)};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; ++i) call_free(blocks[i]);
}

static void resizes(void) {
  void* block = call_realloc(NULL, 100);
  block = call_realloc(block, 104);  // in place, whatever the allocator
  block = call_realloc(block, 200);
  void* barrier = call_malloc(2000);   // behind it
  block = call_realloc(block, 50000);  // moves
  block = call_realloc(block, 10);
  call_realloc(block, kHuge);  // fails: `block` stays
  call_reallocarray(block, SIZE_MAX, 2, UINT64_MAX);
  block = call_reallocarray(block, 4, 25, 100);
  block = call_reallocarray(block, 3000, 100, 300000);
  block = call_realloc(block, 0);  // glibc frees, others give a small block
  call_free(block);
  call_free(call_reallocarray(NULL, 2, 3, 6));
  call_free(call_realloc(NULL, 0));
  call_free(barrier);
}

static void aligned_allocations(void) {
  void* blocks[] = {call_aligned_alloc(64, 128),   call_aligned_alloc(8, 24),
                    call_memalign(4096, 10),       call_memalign(32, 0),
                    call_memalign(1 << 20, 100),   call_posix_memalign(256, 100),
                    call_posix_memalign(8, 1),     call_posix_memalign(24, 100),  // no power of two
                    call_posix_memalign(64, kHuge)};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; ++i) call_free(blocks[i]);
  void* page = did_allocate("valloc", 10, valloc(10));
  call_free(page);
  did_allocate("pvalloc", 5000, pvalloc(5000));  // stays: jemalloc has none and cannot free glibc's
}

int main(void) {
  plain_allocations();
  resizes();
  aligned_allocations();
  call_free(NULL);
  call_malloc(77);  // stays
  print_oracle();
  return 0;
}
