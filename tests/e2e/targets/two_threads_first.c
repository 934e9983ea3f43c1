// Two threads that call malloc for the first time at the same moment: with musl, nothing of the
// program's has called it before.
#include <pthread.h>
#include <stdlib.h>

static void* allocate(void* unused) {
  for (int i = 0; i < 1000; ++i) {
    char* block = malloc(301);
    block[0] = 1;
    free(block);
  }
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, allocate, NULL);
  allocate(NULL);
  pthread_join(thread, NULL);
  return 0;
}
