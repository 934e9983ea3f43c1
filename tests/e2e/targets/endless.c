// Allocates until FILE says stop, and counts the calls it has made in FILE, which is shared memory.
//   endless FILE THREADS    prints "ended" and exits with status 7
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "endless.h"

static struct Endless* shared;

static void* allocate(void* argument) {
  volatile uint64_t* calls = argument;
  while (!shared->stop) {
    void* block = malloc(101);
    ++*calls;
    free(block);
    ++*calls;
  }
  return NULL;
}

static void on_term(int unused) {
  (void)unused;
  shared->terms = shared->terms + 1;
  shared->stop = 1;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int fd = open(argv[1], O_RDWR);
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (shared == MAP_FAILED) return 3;
  signal(SIGTERM, on_term);
  const int threads = atoi(argv[2]);
  pthread_t others[kEndlessThreads];
  for (int i = 1; i < threads; ++i) {
    pthread_create(&others[i], NULL, allocate, (void*)&shared->calls[i]);
  }
  allocate((void*)&shared->calls[0]);
  for (int i = 1; i < threads; ++i) pthread_join(others[i], NULL);
  return write(STDOUT_FILENO, "ended\n", 6) == 6 ? 7 : 4;
}
