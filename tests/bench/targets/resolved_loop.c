// The floor of a replay: nothing but the calls. Reads 8-byte events from FILE, runs them, and
// prints the nanoseconds that each took: resolved_loop FILE SLOTS [EVENTS]. After every so many
// events it waits for a millisecond, which does not count.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

enum { kMalloc, kCalloc, kRealloc, kFree, kAligned };

struct Event {
  uint32_t slot : 29;
  uint32_t kind : 3;
  uint32_t size;
};

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return 2;
  const size_t between_pauses = argc == 4 ? strtoul(argv[3], NULL, 10) : SIZE_MAX;
  FILE* file = fopen(argv[1], "rb");
  struct stat status;
  if (file == NULL || fstat(fileno(file), &status) != 0) return 1;
  const size_t bytes = (size_t)status.st_size;
  const struct Event* events =
      mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fileno(file), 0);
  void** slots = mmap(NULL, strtoul(argv[2], NULL, 10) * sizeof(void*), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (events == MAP_FAILED || slots == MAP_FAILED) return 1;
  const size_t count = bytes / sizeof *events;
  size_t until_pause = between_pauses;
  uint64_t begin = now_ns();
  for (size_t i = 0; i < count; i++) {
    if (--until_pause == 0) {
      until_pause = between_pauses;
      const uint64_t pause = now_ns();
      while (now_ns() - pause < 1000000) {
      }
      begin += now_ns() - pause;
    }
    void** slot = &slots[events[i].slot];
    switch (events[i].kind) {
      case kMalloc:
        *slot = malloc(events[i].size);
        break;
      case kCalloc:
        *slot = calloc(1, events[i].size);
        break;
      case kRealloc:
        *slot = realloc(*slot, events[i].size);
        break;
      case kFree:
        free(*slot);
        break;
      case kAligned:
        *slot = aligned_alloc(64, events[i].size);
        break;
    }
  }
  printf("%f\n", (double)(now_ns() - begin) / (double)count);
  return 0;
}
