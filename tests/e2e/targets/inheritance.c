/* inheritance FAMILY: a process whose heap has holes forks children that go on with that heap. Each
   prints "PID LIVE PEAK": of its blocks, the requested bytes at the end, and the most since it was
   forked. FAMILY: "line": a child and a grandchild; "brood": five children, with work between the
   forks; "thread": a second thread forks, and exits; "daemon": a child whose parent exits at once;
   "late-daemon": the same, and it makes its first call later; "brief": 100 children that free a
   block and exit; "execute": 20 that do so and execute another program; "quiet": a
   grandchild whose parent makes no call; "bulk": a child of 50,000 blocks of 1,000 bytes. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 50000, USED = 20000, LARGE = 300000, DRIFT = 60000 };

static char* blocks[BLOCKS];
static size_t sizes[BLOCKS];
static uint64_t state = 88172645463325252u;
static size_t live;
static size_t peak;

static uint64_t draw(void) { /* xorshift64: Marsaglia, Xorshift RNGs */
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

static void drop(size_t at) {
  free(blocks[at]);
  live -= sizes[at];
  blocks[at] = NULL;
  sizes[at] = 0;
}

static void take_bytes(size_t at, size_t size) {
  sizes[at] = size;
  blocks[at] = malloc(size);
  memset(blocks[at], 1, sizes[at]);
  live += sizes[at];
  if (live > peak) peak = live;
}

static void take(size_t at) {
  const uint64_t kind = draw() % 1000;
  take_bytes(at, kind == 0 ? LARGE : kind < 50 ? draw() % 8000 + 1 : draw() % 400 + 1);
}

static void work(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    const size_t at = draw() % USED;
    if (blocks[at] != NULL) {
      drop(at);
    } else {
      take(at);
    }
  }
}

/* Where others have all pids, it waits for one. */
static pid_t begin_child(void) {
  pid_t child = fork();
  for (int i = 0; child < 0 && i < 1000; ++i) {
    usleep(10000);
    child = fork();
  }
  if (child == 0) peak = live;
  return child;
}

static void report(void) {
  char line[100];
  snprintf(line, sizeof line, "%d %zu %zu\n", (int)getpid(), live, peak);
  if (write(1, line, strlen(line)) < 0) _exit(9);
}

static void end_child(void) {
  report();
  _exit(0);
}

static void* fork_in_thread(void* nothing) {
  work(DRIFT);
  if (begin_child() == 0) {
    work(DRIFT);
    end_child();
  }
  return nothing;
}

static int bulk(void) {
  for (size_t i = 0; i < BLOCKS; ++i) take_bytes(i, 1000);
  if (begin_child() == 0) {
    for (size_t i = 0; i < BLOCKS; ++i) {
      if (i % 4 != 0) drop(i);
    }
    for (size_t i = 0; i < USED; ++i) {
      if (i % 4 != 0) take_bytes(i, 900);
    }
    usleep(300000); /* for samples */
    end_child();
  }
  wait(NULL);
  return 0;
}

int main(int count, char** arguments) {
  const char* const family = count > 1 ? arguments[1] : "line";
  if (strcmp(family, "bulk") == 0) return bulk();
  work(DRIFT);
  if (strcmp(family, "line") == 0) {
    if (begin_child() == 0) {
      work(DRIFT);
      if (begin_child() == 0) {
        work(DRIFT);
        end_child();
      }
      wait(NULL);
      work(DRIFT);
      end_child();
    }
  } else if (strcmp(family, "brood") == 0) {
    for (int i = 0; i < 5; ++i) {
      if (begin_child() == 0) {
        work(DRIFT / (i + 1));
        end_child();
      }
      work(DRIFT / 2);
    }
  } else if (strcmp(family, "thread") == 0) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, fork_in_thread, NULL) != 0) return 3;
    pthread_join(thread, NULL);
    work(DRIFT);
  } else if (strcmp(family, "quiet") == 0) {
    if (begin_child() == 0) {
      if (begin_child() == 0) {
        work(DRIFT);
        end_child();
      }
      wait(NULL);
      _exit(0);
    }
    work(DRIFT);
  } else if (strstr(family, "daemon") != NULL) {
    if (begin_child() == 0) {
      if (strcmp(family, "late-daemon") == 0) usleep(300000);
      work(DRIFT);
      end_child();
    }
    _exit(0);
  } else {
    const int executes = strcmp(family, "execute") == 0;
    for (int i = 0; i < (executes ? 20 : 100); ++i) {
      if (begin_child() == 0) {
        work(2);
        if (!executes) end_child();
        report();
        execl("/bin/true", "true", NULL);
        _exit(9);
      }
      work(10);
    }
  }
  while (wait(NULL) > 0) {
  }
  return 0;
}
