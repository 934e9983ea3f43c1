/* shared_blocks THREADS CALLS [own]: threads at work all at once, on the same blocks or each on its
 * own. Each begins when all have started and ends when all are done: one that came late would take
 * over the arena of one that has ended. Prints the most memory that its allocator had committed, in
 * bytes: writable anonymous mappings, sampled every millisecond. The threads' stacks are shared
 * memory, so that they do not count. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kSlots = 20000, kStackBytes = 256 << 10 };

static _Atomic(void*) blocks[kSlots];
static pthread_barrier_t all_started, all_done;
static atomic_int running;
static int calls_per_thread;
static size_t slots_per_thread = kSlots;

static size_t below(uint64_t* state, size_t limit) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return (*state >> 11) % limit;
}

static void* work(void* number) {
  uint64_t state = 88172645463325252u * ((uintptr_t)number + 1);
  _Atomic(void*)* const mine = blocks + (uintptr_t)number * slots_per_thread % kSlots;
  pthread_barrier_wait(&all_started);
  for (int call = 0; call < calls_per_thread; ++call) {
    void* block = atomic_exchange(&mine[below(&state, slots_per_thread)], NULL);
    if (block != NULL && below(&state, 4) != 0) {
      free(block);
      continue;
    }
    const size_t size = 1 + below(&state, below(&state, 40) == 0 ? 20000 : 500);
    block = realloc(block, size);
    if (block == NULL) abort();
    memset(block, 1, size);
    free(atomic_exchange(&mine[below(&state, slots_per_thread)], block));
  }
  pthread_barrier_wait(&all_done);
  --running;
  return NULL;
}

/* Of /proc/self/maps. A mapping right behind the data of a program or library is its .bss. */
static uint64_t committed_bytes(void) {
  static char text[4 << 20];
  const int fd = open("/proc/self/maps", O_RDONLY);
  size_t length = 0;
  for (ssize_t got; (got = read(fd, text + length, sizeof text - 1 - length)) > 0;) {
    length += (size_t)got;
  }
  close(fd);
  text[length] = 0;
  uint64_t total = 0;
  uint64_t file_end = 0;
  for (const char* line = text; *line != 0; line = strchr(line, '\n') + 1) {
    uint64_t begin, end, inode;
    char mode[5], name[64] = "";
    sscanf(line, "%lx-%lx %4s %*s %*s %lu%*[ ]%63[^\n]", &begin, &end, mode, &inode, name);
    if (inode != 0 && mode[3] == 'p') file_end = end;
    const int is_heap = name[0] == 0 ? begin != file_end : strcmp(name, "[heap]") == 0;
    if (is_heap && inode == 0 && strcmp(mode, "rw-p") == 0) total += end - begin;
  }
  return total;
}

static int start(int threads) {
  if (pthread_barrier_init(&all_started, NULL, (unsigned)threads) != 0 ||
      pthread_barrier_init(&all_done, NULL, (unsigned)threads) != 0) {
    return 0;
  }
  char* const stacks = mmap(NULL, (size_t)threads * kStackBytes, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < threads; ++i) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stacks + (size_t)i * kStackBytes, kStackBytes);
    pthread_t thread;
    if (pthread_create(&thread, &attributes, work, (void*)(intptr_t)i) != 0) return 0;
  }
  return 1;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int threads = atoi(argv[1]);
  running = threads;
  calls_per_thread = atoi(argv[2]) / threads;
  if (argc > 3) slots_per_thread = (size_t)(kSlots / threads);
  if (!start(threads)) return 3;
  uint64_t most = 0;
  while (running != 0) {
    const uint64_t now = committed_bytes();
    if (now > most) most = now;
    usleep(1000);
  }
  char text[32];
  if (write(STDOUT_FILENO, text, (size_t)snprintf(text, sizeof text, "%lu\n", most)) < 0) return 1;
  _exit(0);
}
