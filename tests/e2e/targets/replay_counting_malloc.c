/* A library that counts its calls, in the file that REPLAY_COUNTS names: how many processes have
 * begun, then for each of up to 8 the calls of malloc, malloc_usable_size and malloc_trim, the sum
 * of the times of all calls of malloc since the first, how often malloc was called by another
 * thread than before, how many threads ended, and how many freed blocks had been written to. The
 * process with the number REPLAY_CRASH, from 1, ends in its tenth malloc. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "replay_malloc.h"

struct counts {
  uint64_t mallocs, questions, trims, clock_ms, switches, ends, touched;
};
struct file {
  uint64_t processes;
  struct counts of[8];
};

static struct file* file;
static struct counts* counts;
static pthread_key_t ending;
static pthread_t last_caller;
static void* freed; /* the blocks that are free, each with a pointer to the next */

static void end_thread(void* unused) {
  (void)unused;
  ++counts->ends;
}

__attribute__((constructor)) static void begin(void) {
  if (pthread_key_create(&ending, end_thread) != 0) abort();
  const int fd = open(getenv("REPLAY_COUNTS"), O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(struct file)) != 0) abort();
  file = mmap(NULL, sizeof(struct file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  counts = &file->of[file->processes++ % 8];
}

static uint64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void* malloc(size_t size) {
  static uint64_t first_ms;
  if (first_ms == 0) first_ms = now_ms();
  if (counts != NULL) {
    counts->clock_ms += now_ms() - first_ms;
    counts->switches += last_caller != pthread_self();
    last_caller = pthread_self();
    pthread_setspecific(ending, counts);
  }
  const char* crash = getenv("REPLAY_CRASH");
  if (counts != NULL && ++counts->mallocs == 10 && crash != NULL &&
      file->processes == strtoul(crash, NULL, 10)) {
    if (write(STDERR_FILENO, "last words\n", 11) != 11) abort();
    raise(SIGSEGV);
  }
  if (freed == NULL) return bump(size < 64 ? 64 : size);
  void* block = freed;
  freed = *(void**)block;
  *(char*)block = 0;
  return block;
}
void free(void* block) {
  if (block == NULL) return;
  if (counts != NULL) counts->touched += *(char*)block == 1;
  *(void**)block = freed;
  freed = block;
}
size_t malloc_usable_size(void* block) {
  if (counts != NULL) ++counts->questions;
  return *(size_t*)((char*)block - 8);
}
int malloc_trim(size_t pad) {
  (void)pad;
  ++counts->trims;
  return 1;
}
#define OWN_FREE
#include "replay_rest.h"
