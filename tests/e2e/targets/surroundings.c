// Prints what a program finds when it starts, as far as whoever starts it can change that.
//   surroundings DESCRIPTOR
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char** environ;

static int out;

static void print_descriptors(void) {
  for (int fd = 0; fd < 1024; ++fd) {
    const int flags = fcntl(fd, F_GETFD);
    if (flags >= 0) dprintf(out, "descriptor %d: %d %o\n", fd, flags, fcntl(fd, F_GETFL));
  }
}

static void print_signals(void) {
  sigset_t blocked;
  sigprocmask(SIG_SETMASK, NULL, &blocked);
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action;
    if (sigaction(signal, NULL, &action) != 0) continue;
    dprintf(out, "signal %d: %s %s\n", signal,
            action.sa_handler == SIG_DFL   ? "default"
            : action.sa_handler == SIG_IGN ? "ignored"
                                           : "caught",
            sigismember(&blocked, signal) == 1 ? "blocked" : "let through");
  }
}

static void print_limits(void) {
  for (int resource = 0; resource < RLIMIT_NLIMITS; ++resource) {
    struct rlimit limit;
    getrlimit(resource, &limit);
    dprintf(out, "limit %d: %lu of %lu\n", resource, limit.rlim_cur, limit.rlim_max);
  }
}

// Recording is by two variables. They must not stand in the way of the others.
static void print_environment(void) {
  for (char** entry = environ; *entry != NULL; ++entry) {
    if (strncmp(*entry, "LD_PRELOAD=", 11) == 0) continue;
    if (strncmp(*entry, "HEAPTAPE_SESSION=", 17) == 0) continue;
    dprintf(out, "%s\n", *entry);
  }
}

int main(int argc, char** argv) {
  free(malloc(101));
  if (argc < 2) return 2;
  out = atoi(argv[1]);
  for (int i = 0; i < argc; ++i) dprintf(out, "word %d: %s\n", i, argv[i]);
  print_descriptors();
  print_signals();
  print_limits();
  dprintf(out, "mask %o, nice %d, scheduler %d, dumpable %d, keeps capabilities %d\n", umask(0),
          getpriority(PRIO_PROCESS, 0), sched_getscheduler(0), prctl(PR_GET_DUMPABLE),
          prctl(PR_GET_KEEPCAPS));
  int death_signal = 0, subreaper = 0;
  prctl(PR_GET_PDEATHSIG, &death_signal);
  prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
  dprintf(out, "death signal %d, subreaper %d\n", death_signal, subreaper);
  print_environment();
  return 0;
}
