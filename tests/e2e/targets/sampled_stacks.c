/* Asks for blocks from three functions, in a thread and in a child as well: of each function the
   calls and bytes are known. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void* volatile block;

__attribute__((noinline)) void small(void) {
  block = malloc(48);
  free(block);
}
__attribute__((noinline)) void medium(void) {
  block = malloc(3000);
  free(block);
}
__attribute__((noinline)) void large(void) {
  block = malloc(300000);
  free(block);
}

static void* work(void* unused) {
  (void)unused;
  for (int i = 0; i < 200000; ++i) {
    small();
    if (i % 40 == 0) medium();
    if (i % 5000 == 0) large();
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
