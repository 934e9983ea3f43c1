/* prefork WORKERS: a server that keeps so many workers. It makes a block of 5,003 bytes, forks
   them, and replaces each that ends. A worker makes 200,000 blocks and a last one of 889 bytes,
   prints "worker PID", and waits. SIGHUP starts the program anew in the same process, without its
   workers; SIGTERM ends it. Workers end with it. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 200000, LIVE = 256, MOST = 16, SHARED = 5003, LAST = 889 };

static pid_t workers[MOST];

/* Its last call is that for the last block. */
static void work(void) {
  static void* blocks[LIVE];
  static char line[64];
  for (unsigned i = 0, seed = (unsigned)getpid(); i < BLOCKS; ++i) {
    seed = seed * 1103515245 + 12345;
    void** block = &blocks[(seed >> 16) % LIVE];
    free(*block);
    *block = malloc(16 + (seed >> 8) % 500);
  }
  void* const last = malloc(LAST);
  const int length = snprintf(line, sizeof line, "worker %d\n", (int)getpid());
  if (last != NULL && write(STDOUT_FILENO, line, (size_t)length) == length) {
    for (;;) pause();
  }
  _exit(1);
}

static pid_t start_worker(void) {
  const pid_t master = getpid();
  const pid_t pid = fork();
  if (pid != 0) return pid;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() == master) work();
  _exit(1);
}

static void replace_ended_workers(int count) {
  for (pid_t ended; (ended = waitpid(-1, NULL, WNOHANG)) > 0;) {
    for (int i = 0; i < count; ++i) {
      if (workers[i] == ended) workers[i] = start_worker();
    }
  }
}

static void end_workers(int count) {
  for (int i = 0; i < count; ++i) kill(workers[i], SIGTERM);
  while (wait(NULL) > 0) {
  }
}

int main(int count, char** arguments) {
  const int wanted = count > 1 ? atoi(arguments[1]) : 0;
  if (wanted < 1 || wanted > MOST) return 2;
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGTERM);
  sigaddset(&awaited, SIGHUP);
  sigaddset(&awaited, SIGCHLD);
  sigprocmask(SIG_BLOCK, &awaited, NULL);
  char* const shared = malloc(SHARED);
  memset(shared, 1, SHARED);
  for (int i = 0; i < wanted; ++i) workers[i] = start_worker();
  int got = 0;
  while (sigwait(&awaited, &got) == 0 && got == SIGCHLD) replace_ended_workers(wanted);
  end_workers(wanted);
  if (got == SIGHUP) execv("/proc/self/exe", arguments);
  free(shared);
  return 0;
}
