/* late START [STOP]: sets glibc's threshold for trimming to 12,345 bytes; makes 1,000 blocks of 777
   bytes in each of four threads, and of a child, which waits; runs the command START, which begins
   the recording; then, in each of those threads and in the child, makes 500 blocks of 778 bytes and
   frees the earlier ones. Then runs the command STOP, if it is given, and makes 100 blocks of 779
   bytes in each thread. Exits with 7. */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, BEFORE = 1000, SINCE = 500, AFTER = 100 };

static pthread_barrier_t step;

static void* blocks[THREADS + 1][BEFORE];

static void make_before(void** mine) {
  for (int i = 0; i < BEFORE; ++i) mine[i] = malloc(777);
}

static void make_since(void** mine) {
  for (int i = 0; i < SINCE; ++i) free(malloc(778));
  for (int i = 0; i < BEFORE; ++i) free(mine[i]);
}

static void* live(void* mine) {
  make_before(mine);
  pthread_barrier_wait(&step); /* the start follows */
  pthread_barrier_wait(&step);
  make_since(mine);
  pthread_barrier_wait(&step); /* the stop follows */
  pthread_barrier_wait(&step);
  for (int i = 0; i < AFTER; ++i) free(malloc(779));
  return NULL;
}

int main(int count, char** arguments) {
  if (count < 2) return 2;
#ifdef M_TRIM_THRESHOLD
  mallopt(M_TRIM_THRESHOLD, 12345);
#endif
  free(malloc(1)); /* so that it joins before its child */
  int go[2];
  if (pipe(go) != 0) return 2;
  const pid_t child = fork();
  if (child == 0) {
    char byte;
    make_before(blocks[THREADS]);
    close(go[1]);
    if (read(go[0], &byte, 1) < 0) return 2;
    make_since(blocks[THREADS]);
    _exit(0);
  }
  pthread_barrier_init(&step, NULL, THREADS + 1);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, live, blocks[i]);
  pthread_barrier_wait(&step);
  if (system(arguments[1]) != 0) return 3;
  pthread_barrier_wait(&step);
  close(go[1]);
  waitpid(child, NULL, 0);
  pthread_barrier_wait(&step);
  if (count > 2 && system(arguments[2]) != 0) return 4;
  pthread_barrier_wait(&step);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  return 7;
}
