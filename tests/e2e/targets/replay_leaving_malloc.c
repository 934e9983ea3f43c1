/* Each thread has memory of its own, which goes when the thread ends; a block says by its place
 * whose it is. Which thread calls is asked of the kernel, as some allocators do. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include <stddef.h>

enum { kThreads = 16384, kThreadBytes = 1 << 16 };

static struct {
  _Atomic(pid_t) thread;
  char* memory;
  size_t used;
} owners[kThreads];
static pthread_key_t key;

static void leave(void* owner) {
  const size_t at = (size_t)owner - 1;
  munmap(owners[at].memory, kThreadBytes);
  owners[at].thread = 0;
}

static size_t owner_of_call(void) {
  const pid_t thread = gettid();
  size_t at = (size_t)thread % kThreads;
  pid_t owner = 0;
  while (!atomic_compare_exchange_strong(&owners[at].thread, &owner, thread)) {
    if (owner == thread) return at;
    owner = 0;
    at = (at + 1) % kThreads;
  }
  owners[at].used = 0;
  owners[at].memory =
      mmap(NULL, kThreadBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_setspecific(key, (void*)(at + 1));
  return at;
}

void* malloc(size_t size) {
  const size_t at = owner_of_call();
  char* block = owners[at].memory + owners[at].used;
  owners[at].used += (size + 15) & ~(size_t)15;
  return owners[at].used <= kThreadBytes ? block : NULL;
}
void* calloc(size_t count, size_t size) {
  return malloc(count * size);
}
void* realloc(void* old, size_t size) {
  (void)old;
  return malloc(size);
}
void free(void* block) {
  (void)block;
}

__attribute__((constructor)) static void begin(void) {
  pthread_key_create(&key, leave);
}
