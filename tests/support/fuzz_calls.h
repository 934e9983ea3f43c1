/* Random calls to an allocator, the same for a seed both in a C program on the real code and in a
 * test on its model. C and C++. Includes nothing that allocates. */
#ifndef HEAPTAPE_TESTS_SUPPORT_FUZZ_CALLS_H
#define HEAPTAPE_TESTS_SUPPORT_FUZZ_CALLS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { kFuzzSlots = 1024, kFuzzPhaseCalls = 2048 };

/* The last is not a call: the thread ends, and another takes its number. */
enum fuzz_kind { kFuzzMalloc, kFuzzCalloc, kFuzzMemalign, kFuzzRealloc, kFuzzFree, kFuzzEndThread };

struct fuzz_call {
  int kind;      /* enum fuzz_kind */
  uint32_t slot; /* holds no block before the first three kinds, one before the others */
  uint32_t thread;
  uint64_t size;
  uint64_t alignment; /* of memalign: 8 to 4096; beyond, the initial break would matter */
};

/* Calls come in phases: each has sizes of one kind, and tends to grow or to empty the heap. */
struct fuzz_calls {
  uint64_t state;
  uint32_t threads;
  uint64_t made;
  uint32_t slots; /* in use in this phase */
  uint32_t sizes;
  uint32_t allocate_percent;
  uint8_t filled[kFuzzSlots];
};

static inline void fuzz_begin(struct fuzz_calls* calls, uint64_t seed, uint32_t threads) {
  memset(calls, 0, sizeof *calls);
  calls->state = seed * 2654435761u + 88172645463325252u;
  calls->threads = threads;
}

static inline uint64_t fuzz_below(struct fuzz_calls* calls, uint64_t limit) {
  calls->state ^= calls->state << 13;
  calls->state ^= calls->state >> 7;
  calls->state ^= calls->state << 17;
  return (calls->state >> 11) % limit;
}

static inline uint64_t fuzz_size(struct fuzz_calls* calls) {
  switch (calls->sizes) {
    case 0:
      return fuzz_below(calls, 140);
    case 1:
      return fuzz_below(calls, 1200);
    case 2:
      return fuzz_below(calls, 8) * 16 + 1000 + fuzz_below(calls, 3) * 16;
    case 3:
      return fuzz_below(calls, fuzz_below(calls, 4) == 0 ? 30000 : 300);
    case 4:
      return fuzz_below(calls, 16) != 0 ? fuzz_below(calls, 2000) : fuzz_below(calls, 400000);
    case 5:
      return 1000 + fuzz_below(calls, 40) * 512;
    case 6:
      return fuzz_below(calls, 64) != 0 ? fuzz_below(calls, 100000) : fuzz_below(calls, 3000000);
    case 7: /* so much that an arena needs further heaps */
      return fuzz_below(calls, 1000000);
    default:
      return fuzz_below(calls, (uint64_t)2 << fuzz_below(calls, 20));
  }
}

static inline void fuzz_next_phase(struct fuzz_calls* calls) {
  calls->slots =
      fuzz_below(calls, 3) == 0 ? (uint32_t)kFuzzSlots : 16 + (uint32_t)fuzz_below(calls, 200);
  calls->sizes = (uint32_t)fuzz_below(calls, 9);
  calls->allocate_percent = 25 + (uint32_t)fuzz_below(calls, 60);
}

static inline struct fuzz_call fuzz_next(struct fuzz_calls* calls) {
  if (calls->made++ % kFuzzPhaseCalls == 0) fuzz_next_phase(calls);
  struct fuzz_call call = {kFuzzFree, 0, (uint32_t)fuzz_below(calls, calls->threads), 0, 0};
  if (call.thread != 0 && fuzz_below(calls, 512) == 0) {
    call.kind = kFuzzEndThread;
    return call;
  }
  const int wants_block = fuzz_below(calls, 100) < calls->allocate_percent;
  for (int tries = 0; tries < 8; ++tries) {
    call.slot = (uint32_t)fuzz_below(calls, calls->slots);
    if (calls->filled[call.slot] != wants_block) break;
  }
  const uint64_t kind = fuzz_below(calls, 16);
  if (calls->filled[call.slot] && kind >= 4) {
    calls->filled[call.slot] = 0;
    return call;
  }
  call.size = fuzz_size(calls);
  if (calls->filled[call.slot]) {
    call.kind = kFuzzRealloc;
    call.size += 1;
    return call;
  }
  calls->filled[call.slot] = 1;
  call.kind = kFuzzMalloc;
  if (kind == 1 || kind == 2) call.kind = kFuzzCalloc;
  if (kind != 0) return call;
  call.kind = kFuzzMemalign;
  call.alignment = (uint64_t)8 << fuzz_below(calls, 10);
  return call;
}

/* A block's data for comparing two runs: how much of it may be used, and where it is. `place` is
 * the offset into the main heap; FUZZ_MAPPED for a mapping; FUZZ_IN_HEAP and the offset into a heap
 * of another arena, whichever heap that is: they come and go. */
#define FUZZ_MAPPED ((uint64_t)1 << 63)
#define FUZZ_IN_HEAP ((uint64_t)1 << 62)
#define FUZZ_HEAP_MASK (((uint64_t)1 << 26) - 1)

struct fuzz_outcome {
  uint64_t place;
  uint64_t usable_bytes;
};

#endif
