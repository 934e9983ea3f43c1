/* Asks for blocks of 48 bytes, of neighbors of that size and of 1,024 to 4,096 bytes by every entry
   point of C, in a thread and in a child as well. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void* volatile block;

static void replace(void* by) {
  free(block);
  block = by;
}

static void ask_for(size_t size) {
  replace(malloc(size));
  replace(calloc(1, size));
  replace(aligned_alloc(16, size));
  replace(memalign(64, size));
  void* aligned = NULL;
  if (posix_memalign(&aligned, 32, size) == 0) replace(aligned);
  replace(realloc(NULL, size));
  replace(reallocarray(NULL, 1, size));
}

static void* work(void* unused) {
  (void)unused;
  for (int i = 0; i < 100; ++i) {
    ask_for(47);
    ask_for(48);
    ask_for(49);
    ask_for(1023);
    ask_for(1024);
    ask_for(4096);
    ask_for(4097);
    block = realloc(block, 48);  /* into a chosen size */
    block = realloc(block, 200); /* and out of it */
    replace(calloc(6, 8));
  }
  return NULL;
}

int main(void) {
  work(NULL);
  pthread_t thread;
  if (pthread_create(&thread, NULL, work, NULL) != 0) return 1;
  pthread_join(thread, NULL);
  const pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) {
    work(NULL);
    _exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  return status != 0;
}
