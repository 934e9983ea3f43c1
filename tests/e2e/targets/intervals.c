/* intervals CALLS COMMAND...: has a phase before each command and one behind the last. In phase K,
   from 0, it sets glibc's threshold for trimming to 10,000 + K bytes, each of four threads and of a
   forked process makes CALLS blocks of 1,000 + K bytes and keeps ten of them until the next phase,
   and a child makes 50 blocks of 2,000 + K bytes. Exits with 7. */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  THREADS = 4,
  KEPT = 10,
  OF_CHILD = 50,
  SIZE = 1000,
  SIZE_OF_CHILD = 2000,
  THRESHOLD = 10000
};

static int calls, phases;
static pthread_barrier_t step;

static void make(void** kept, int phase) {
  for (int i = 0; i < KEPT; ++i) {
    free(kept[i]);
    kept[i] = malloc(SIZE + phase);
  }
  for (int i = KEPT; i < calls; ++i) free(malloc(SIZE + phase));
}

static void* live(void* unused) {
  void* kept[KEPT] = {0};
  for (int phase = 0; phase < phases; ++phase) {
    pthread_barrier_wait(&step);
    make(kept, phase);
    pthread_barrier_wait(&step);
  }
  return unused;
}

/* Makes a phase for each byte that it reads, and answers. */
static void follow(int in, int out) {
  void* kept[KEPT] = {0};
  char phase;
  while (read(in, &phase, 1) == 1) {
    make(kept, phase);
    if (write(out, &phase, 1) != 1) _exit(1);
  }
  _exit(0);
}

static int run_phase(char phase, int in, int out) {
  mallopt(M_TRIM_THRESHOLD, THRESHOLD + phase);
  pthread_barrier_wait(&step);
  pthread_barrier_wait(&step);
  const int sent = write(out, &phase, 1) == 1 && read(in, &phase, 1) == 1;
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < OF_CHILD; ++i) free(malloc(SIZE_OF_CHILD + phase));
    _exit(0);
  }
  waitpid(child, NULL, 0);
  return sent;
}

int main(int count, char** arguments) {
  int go[2], done[2];
  if (count < 2 || pipe(go) != 0 || pipe(done) != 0) return 2;
  calls = atoi(arguments[1]);
  phases = count - 1;
  free(malloc(1)); /* so that it joins before its child */
  if (fork() == 0) {
    close(go[1]);
    follow(go[0], done[1]);
  }
  pthread_barrier_init(&step, NULL, THREADS + 1);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, live, NULL);
  for (int phase = 0; phase < phases; ++phase) {
    if (!run_phase((char)phase, done[0], go[1])) return 3;
    if (phase + 2 < count && system(arguments[phase + 2]) != 0) return 4;
  }
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  return 7;
}
