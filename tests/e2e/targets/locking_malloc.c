// An allocator to preload that comes back from malloc(7300) with its lock held: until that block is
// freed, whoever asks it for another waits forever.
#include <pthread.h>
#include <stddef.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void __libc_free(void*);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void* held_for;

void* malloc(size_t size) {
  pthread_mutex_lock(&lock);
  void* const block = __libc_malloc(size);
  if (size == 7300) {
    held_for = block;
  } else {
    pthread_mutex_unlock(&lock);
  }
  return block;
}

void free(void* block) {
  if (block == NULL) return;
  const int is_held = block == held_for;
  if (is_held) held_for = NULL;
  if (!is_held) pthread_mutex_lock(&lock);
  __libc_free(block);
  pthread_mutex_unlock(&lock);
}

void* calloc(size_t count, size_t size) {
  pthread_mutex_lock(&lock);
  void* const block = __libc_calloc(count, size);
  pthread_mutex_unlock(&lock);
  return block;
}

void* realloc(void* old, size_t size) {
  pthread_mutex_lock(&lock);
  void* const block = __libc_realloc(old, size);
  pthread_mutex_unlock(&lock);
  return block;
}
