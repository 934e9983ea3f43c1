/* A program that keeps its own account of what it asks of malloc, and prints it at its end: live
 * blocks, live bytes, the upper and the lower bound of cumulative bytes, failed calls, frees of
 * NULL, temporaries, the peak of live bytes, all calls. Without stdio, which would allocate. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SLOTS 500

static struct {
  void* block;
  size_t size;
  unsigned long born;
} slots[SLOTS];
static unsigned long live_count, live_bytes, upper, lower, failed, null_frees, temporaries;
static unsigned long peak_bytes, calls;
static unsigned long long state = 7;

static size_t below(size_t limit) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (size_t)(state >> 33) % limit;
}

static size_t any_size(void) {
  return below(50) == 0 ? below(400000) : below(400);
}

static void note_peak(void) {
  if (live_bytes > peak_bytes) peak_bytes = live_bytes;
}

static void allocate(size_t slot) {
  const size_t size = any_size();
  const size_t how = below(10);
  void* block = how == 0   ? calloc(size / 10 + 1, 10)
                : how == 1 ? realloc(NULL, size + 1)
                           : malloc(size);
  slots[slot].size = how == 0 ? (size / 10 + 1) * 10 : how == 1 ? size + 1 : size;
  slots[slot].block = block;
  slots[slot].born = ++calls;
  ++live_count;
  live_bytes += slots[slot].size;
  upper += slots[slot].size;
  lower += slots[slot].size;
  note_peak();
}

static void resize(size_t slot) {
  const size_t size = any_size() + 1;
  slots[slot].block = realloc(slots[slot].block, size);
  ++calls;
  live_bytes = live_bytes - slots[slot].size + size;
  upper += size;
  lower += size - slots[slot].size;
  slots[slot].size = size;
  note_peak();
}

static void release(size_t slot) {
  if (++calls == slots[slot].born + 1) ++temporaries;
  if (below(10) == 0) {
    if (realloc(slots[slot].block, 0) != NULL) _exit(3);
  } else {
    free(slots[slot].block);
  }
  slots[slot].block = NULL;
  --live_count;
  live_bytes -= slots[slot].size;
}

static void fail(size_t slot) {
  const size_t too_much = (size_t)-1 / 2 - below(1000);
  ++calls;
  if (below(3) == 0) {
    free(NULL);
    ++null_frees;
  } else if (slots[slot].block != NULL) {
    if (realloc(slots[slot].block, too_much) != NULL) _exit(3);
    ++failed;
  } else {
    if (malloc(too_much) != NULL) _exit(3);
    ++failed;
  }
}

int main(void) {
  for (int i = 0; i < 200000; ++i) {
    const size_t slot = below(SLOTS);
    if (below(50) == 0) {
      fail(slot);
    } else if (slots[slot].block == NULL) {
      allocate(slot);
      if (below(5) == 0) release(slot);
    } else if (below(3) == 0) {
      resize(slot);
    } else {
      release(slot);
    }
  }
  char text[300];
  const int length =
      snprintf(text, sizeof text, "%lu %lu %lu %lu %lu %lu %lu %lu %lu\n", live_count, live_bytes,
               upper, lower, failed, null_frees, temporaries, peak_bytes, calls);
  return write(STDOUT_FILENO, text, (size_t)length) == length ? 0 : 1;
}
