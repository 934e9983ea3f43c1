/* fuzz SEED CALLS THREADS: random calls to malloc, and on standard output what came of each that
 * returns a block (struct fuzz_outcome). Nothing else here allocates, but pthread_create() does:
 * once for each thread but the first, before the calls. Of several threads one runs at a time. The
 * last outcome is what mallinfo2() says at the end: bytes of the arenas, and of chunks in use. */
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/fuzz_calls.h"

enum { kMaxThreads = 64, kBuffered = 4096 };

static void* blocks[kFuzzSlots];
static struct fuzz_outcome buffer[kBuffered];
static size_t buffered;
static uintptr_t initial_break;

static struct fuzz_call call_now;
static pthread_t threads[kMaxThreads];
static sem_t turns[kMaxThreads]; /* to make call_now; of the first thread: to go on */

static void flush(void) {
  const char* bytes = (const char*)buffer;
  size_t left = buffered * sizeof buffer[0];
  while (left > 0) {
    const ssize_t written = write(1, bytes, left);
    if (written < 0) _exit(3);
    bytes += written;
    left -= (size_t)written;
  }
  buffered = 0;
}

static void tell(const void* block) {
  const size_t flags = ((const size_t*)block)[-1];
  uint64_t place = (uintptr_t)block - initial_break;
  if (flags & 2) {
    place = FUZZ_MAPPED;
  } else if (flags & 4) {
    place = FUZZ_IN_HEAP | ((uintptr_t)block & FUZZ_HEAP_MASK);
  }
  buffer[buffered++] = (struct fuzz_outcome){place, malloc_usable_size((void*)block)};
  if (buffered == kBuffered) flush();
}

/* Of all arenas: what they took from the system, and what of it is in use. */
static void tell_totals(void) {
  const struct mallinfo2 info = mallinfo2();
  buffer[buffered++] = (struct fuzz_outcome){info.arena, info.uordblks};
}

static void make(const struct fuzz_call* call) {
  void** const block = &blocks[call->slot];
  switch (call->kind) {
    case kFuzzMalloc:
      *block = malloc(call->size);
      break;
    case kFuzzCalloc:
      *block = calloc(1, call->size);
      break;
    case kFuzzMemalign:
      *block = memalign(call->alignment, call->size);
      break;
    case kFuzzRealloc:
      *block = realloc(*block, call->size);
      break;
    default:
      free(*block);
      return;
  }
  if (*block == NULL) _exit(4);
  tell(*block);
}

static void* serve(void* number) {
  for (;;) {
    sem_wait(&turns[(intptr_t)number]);
    if (call_now.kind == kFuzzEndThread) return NULL;
    make(&call_now);
    sem_post(&turns[0]);
  }
}

static void start(uint32_t number) {
  if (pthread_create(&threads[number], NULL, serve, (void*)(intptr_t)number) != 0) _exit(3);
}

static void perform(const struct fuzz_call* call) {
  if (call->thread == 0) {
    make(call);
    return;
  }
  sem_post(&turns[call->thread]);
  if (call->kind == kFuzzEndThread) {
    pthread_join(threads[call->thread], NULL);
    start(call->thread); /* on the stack of the one that ended, so nothing is allocated */
  } else {
    sem_wait(&turns[0]);
  }
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  initial_break = (uintptr_t)sbrk(0);
  const uint32_t thread_count = (uint32_t)atoi(argv[3]);
  if (thread_count > kMaxThreads) return 2;
  for (uint32_t i = 1; i < thread_count; ++i) start(i);
  struct fuzz_calls calls;
  fuzz_begin(&calls, (uint64_t)atol(argv[1]), thread_count);
  for (long i = atol(argv[2]); i > 0; --i) {
    call_now = fuzz_next(&calls);
    perform(&call_now);
  }
  tell_totals();
  flush();
  _exit(0);
}
