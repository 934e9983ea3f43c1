/* sequence FILE THREADS PROCESSES: until FILE, which is shared memory, says stop, each of so many
   threads of so many processes makes and frees blocks. The call number N of a thread asks for
   FIRST_SIZE + N % SIZES bytes; FILE has the numbers of the calls that have returned. Meanwhile the
   first process forks short-lived children. Prints "ended" and exits with 7. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIRST_SIZE = 1000, SIZES = 20000, AT_ONCE = 20, PAUSE_US = 10000, FORK_US = 30000 };
enum { MOST_SLOTS = 511 };

struct Slot {
  uint64_t thread_id; /* 0: not there yet */
  volatile uint64_t calls;
};

static struct {
  volatile uint64_t stop;
  volatile uint64_t terms;
  struct Slot slots[MOST_SLOTS];
}* shared;

static void* make_blocks(void* argument) {
  struct Slot* slot = argument;
  slot->thread_id = (uint64_t)syscall(SYS_gettid);
  for (uint64_t i = 0; !shared->stop; ++i) {
    void* block = malloc(FIRST_SIZE + i % SIZES);
    slot->calls = i + 1;
    free(block);
    if (i % AT_ONCE == AT_ONCE - 1) usleep(PAUSE_US);
  }
  return NULL;
}

static void on_term(int signal) {
  (void)signal;
  shared->terms = shared->terms + 1;
  shared->stop = 1;
}

static void run_threads(struct Slot* slots, int count) {
  pthread_t threads[MOST_SLOTS];
  for (int i = 0; i < count; ++i) pthread_create(&threads[i], NULL, make_blocks, &slots[i]);
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
}

static void* fork_children(void* unused) {
  (void)unused;
  while (!shared->stop) {
    const pid_t child = fork();
    if (child == 0) {
      for (int i = 0; i < 50; ++i) free(malloc(777));
      _exit(0);
    }
    waitpid(child, NULL, 0);
    usleep(FORK_US);
  }
  return NULL;
}

int main(int count, char** arguments) {
  if (count < 4) return 2;
  const int file = open(arguments[1], O_RDWR);
  const int threads = atoi(arguments[2]);
  const int processes = atoi(arguments[3]);
  if (threads < 1 || processes < 1 || threads * processes > MOST_SLOTS) return 2;
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (shared == MAP_FAILED) return 2;
  signal(SIGTERM, on_term);
  pid_t children[MOST_SLOTS];
  for (int i = 1; i < processes; ++i) {
    children[i] = fork();
    if (children[i] == 0) {
      run_threads(&shared->slots[i * threads], threads);
      _exit(0);
    }
  }
  pthread_t forks;
  pthread_create(&forks, NULL, fork_children, NULL);
  run_threads(&shared->slots[0], threads);
  pthread_join(forks, NULL);
  for (int i = 1; i < processes; ++i) {
    int status = 0;
    if (waitpid(children[i], &status, 0) != children[i] || status != 0) return 4;
  }
  printf("ended\n");
  return 7;
}
