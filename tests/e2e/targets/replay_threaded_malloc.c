/* A library with a thread of its own, which takes memory while it blocks all signals. */
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "replay_malloc.h"

void* malloc(size_t size) {
  return bump(size);
}
void* calloc(size_t count, size_t size) {
  void* block = bump(count * size);
  return block != NULL ? memset(block, 0, count * size) : NULL;
}
void* realloc(void* old, size_t size) {
  return bump_again(old, size);
}
void free(void* block) {
  (void)block;
}

static void* work(void* unused) {
  sigset_t all;
  sigfillset(&all);
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8); /* past the worker's pthread_sigmask */
  mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return unused;
}

__attribute__((constructor)) static void begin(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, work, NULL) == 0) pthread_join(thread, NULL);
}
