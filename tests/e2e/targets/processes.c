// Programs that make programs. Every malloc of the program itself is of an odd size, below 1000:
// 101 in the first process, 201 in children made by fork, 301 in programs that were executed.
//   processes MODE [ARGUMENT...]; the modes are the functions at the end
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static char** arguments;
static char* leaf_words[] = {NULL, "leaf", "5", NULL};

static void allocate(size_t size, int times) {
  for (int i = 0; i < times; ++i) free(malloc(size));
}

static void nap(int milliseconds) {
  usleep((useconds_t)milliseconds * 1000);
}

static int wait_for(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) return 98;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 97;
}

static int leaf(void) {
  allocate(301, atoi(arguments[0]));
  return 0;
}

static int just_fork(void) {
  allocate(101, 4);
  const pid_t child = fork();
  if (child == 0) {
    allocate(201, 6);
    exit(5);
  }
  return wait_for(child);
}

static int vfork_and_exec(void) {
  allocate(101, 4);
  const pid_t child = vfork();
  if (child == 0) {
    allocate(103, 2);  // not allowed, but done: it is the parent's heap
    execv(leaf_words[0], leaf_words);
    _exit(96);
  }
  allocate(101, 4);
  return wait_for(child);
}

static int spawn(void) {
  allocate(101, 4);
  pid_t child;
  if (posix_spawn(&child, leaf_words[0], NULL, NULL, leaf_words, environ) != 0) return 95;
  return wait_for(child);
}

static int exec_in_place(void) {
  allocate(101, 4);
  execv(leaf_words[0], leaf_words);
  return 96;
}

static int fork_and_exec(void) {
  allocate(101, 4);
  const pid_t child = fork();
  if (child == 0) {
    allocate(201, 6);
    execv(leaf_words[0], leaf_words);
    _exit(96);
  }
  return wait_for(child);
}

// daemon FOLDER: leaves a grandchild behind, of two threads, which runs until FOLDER/stop is there
// and then writes FOLDER/ended.
static void* allocate_until_stopped(void* stop_file) {
  while (access(stop_file, F_OK) != 0) allocate(201, 1000);
  return NULL;
}

static int daemonise(void) {
  allocate(101, 4);
  if (chdir(arguments[0]) != 0) return 94;
  const pid_t child = fork();
  if (child != 0) return wait_for(child);
  setsid();
  if (fork() != 0) _exit(0);
  pthread_t thread;
  pthread_create(&thread, NULL, allocate_until_stopped, "stop");
  close(open("started", O_CREAT | O_WRONLY, 0600));
  allocate_until_stopped("stop");
  pthread_join(thread, NULL);
  close(open("ended", O_CREAT | O_WRONLY, 0600));
  exit(0);
}

// many N: N children one after the other, three pairs of calls each.
static int many_children(void) {
  allocate(101, 4);
  for (int i = atoi(arguments[0]); i > 0; --i) {
    const pid_t child = fork();
    if (child == 0) {
      allocate(201, 3);
      _exit(0);
    }
    if (wait_for(child) != 0) return 93;
  }
  return 0;
}

static int count_pools(void) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[4096];
  int count = 0;
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    count += strstr(line, "heaptape-pool") != NULL;
  }
  if (maps != NULL) fclose(maps);
  return count;
}

static int blocks_only(int number) {
  sigset_t blocked;
  int count = 0;
  sigprocmask(SIG_SETMASK, NULL, &blocked);
  for (int i = 1; i < 32; ++i) count += sigismember(&blocked, i);
  return count == 1 && sigismember(&blocked, number);
}

// neat N: N children one after the other. Neither they nor this process may see other signals
// blocked than before, and the number of pools that this one has mapped must not grow with theirs.
static int fork_neatly(void) {
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  sigprocmask(SIG_SETMASK, &usr1, NULL);
  allocate(101, 4);
  int pools = 0;
  for (int i = 0; i < atoi(arguments[0]); ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(blocks_only(SIGUSR1) ? 0 : 88);
    if (wait_for(child) != 0) return 93;
    if (!blocks_only(SIGUSR1)) return 88;
    if (i == 0) pools = count_pools();
  }
  if (pools == 0) return 87;
  // It may hold spare ones for children to come.
  return count_pools() <= pools + 64 ? 0 : 86;
}

// Children by bare system calls, each with one by fork, after one by fork.
static int clone_barely(void) {
  allocate(101, 4);
  if (just_fork() != 5) return 91;
  for (int i = 0; i < 3; ++i) {
    const pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
      allocate(203, 2);
      const pid_t grandchild = fork();
      if (grandchild == 0) {
        allocate(205, 2);
        _exit(0);
      }
      _exit(wait_for(grandchild));
    }
    if (wait_for(child) != 0) return 93;
  }
  return 0;
}

// Five generations, of which every other one makes no calls.
static int fork_for_generations(void) {
  allocate(101, 4);
  for (int i = 1; i < 5; ++i) {
    const pid_t child = fork();
    if (child != 0) return wait_for(child);
    if (i % 2 == 0) allocate(201, 3);
  }
  return 0;
}

static void* fork_some(void* failures) {
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      allocate(201, 3);
      _exit(0);
    }
    if (wait_for(child) != 0) __atomic_add_fetch((int*)failures, 1, __ATOMIC_RELAXED);
  }
  return NULL;
}

// Four threads, each with 20 children one after the other.
static int fork_in_threads(void) {
  pthread_t threads[4];
  int failures = 0;
  allocate(101, 4);
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, fork_some, &failures);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  return failures;
}

// Two children where the recorder cannot be reached, after one where it can.
static int leave_network(void) {
  allocate(101, 4);
  if (just_fork() != 5) return 91;
  if (unshare(CLONE_NEWNET) != 0) return 99;
  for (int i = 0; i < 2; ++i) {
    if (just_fork() != 5) return 92;
  }
  return 0;
}

// crowd N: N children alive at the same time.
static int crowd_of_children(void) {
  int ends[2], there[2];
  if (pipe(ends) != 0 || pipe(there) != 0) return 92;
  allocate(101, 4);
  const int count = atoi(arguments[0]);
  char byte = 0;
  for (int i = 0; i < count; ++i) {
    if (fork() == 0) {
      close(ends[1]);
      allocate(201, 3);
      if (write(there[1], &byte, 1) != 1) _exit(90);
      _exit(read(ends[0], &byte, 1) == 0 ? 0 : 91);
    }
  }
  for (int i = 0; i < count; ++i) {
    if (read(there[0], &byte, 1) != 1) return 93;
  }
  close(ends[1]);
  int status = 0, failed = 0;
  while (wait(&status) > 0) failed |= status;
  return failed != 0;
}

// threads N: forks N times while other threads allocate.
static volatile int stop_threads;
static void* allocate_until_told(void* unused) {
  while (!stop_threads) allocate(101, 10);
  return unused;
}

static int fork_among_threads(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, allocate_until_told, NULL);
  int failed = 0;
  for (int i = atoi(arguments[0]); i > 0; --i) {
    const pid_t child = fork();
    if (child == 0) {
      allocate(201, 50);
      _exit(0);
    }
    failed |= wait_for(child);
  }
  stop_threads = 1;
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  return failed;
}

// A thread whose first call is made by its vfork child; later calls are spread over a while.
static void* vfork_then_allocate(void* unused) {
  const pid_t child = vfork();
  if (child == 0) {
    allocate(103, 1);
    _exit(0);
  }
  wait_for(child);
  for (int i = 0; i < 8; ++i) {
    nap(60);
    allocate(103, 50);
  }
  return unused;
}

static void* allocate_a_little(void* unused) {
  allocate(101, 50);
  return unused;
}

static int vfork_first(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, vfork_then_allocate, NULL);
  for (int i = 0; i < 8; ++i) {
    pthread_t other;
    nap(60);
    pthread_create(&other, NULL, allocate_a_little, NULL);
    pthread_join(other, NULL);
  }
  return pthread_join(thread, NULL);
}

// A child in a process-id namespace of its own; 99 when the system does not allow that.
static int new_pid_namespace(void) {
  if (unshare(CLONE_NEWPID) != 0) return 99;
  allocate(101, 4);
  const pid_t child = fork();
  if (child == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, vfork_then_allocate, NULL);
    pthread_join(thread, NULL);
    allocate(201, 6);
    exit(0);
  }
  return wait_for(child);
}

// closes FILE: closes everything it may have open, and writes into what it opens then.
static int close_everything(void) {
  for (int fd = 0; fd <= 1024; ++fd) close(fd);
  const int fd = open(arguments[0], O_CREAT | O_WRONLY, 0600);
  for (int i = 0; i < 200; ++i) {
    allocate(101, 500);
    if (write(fd, "x", 1) != 1) return 90;
  }
  return fd == 0 ? 0 : 89;
}

static int drop_privileges(void) {
  allocate(101, 4);
  if (setgid(65534) != 0 || setuid(65534) != 0) return 99;
  allocate(101, 4);
  const pid_t child = fork();
  if (child != 0) return wait_for(child);
  allocate(201, 6);
  execv(leaf_words[0], leaf_words);
  _exit(96);
}

// chroot FOLDER: the first call of a child is made where no file of the system can be reached.
static int change_root(void) {
  if (chroot(arguments[0]) != 0 || chdir("/") != 0) return 99;
  allocate(101, 4);
  const pid_t child = fork();
  if (child != 0) return wait_for(child);
  allocate(201, 6);
  _exit(0);
}

static void on_alarm(int unused) {
  (void)unused;
  allocate(103, 5);
}

// Allocates in a signal handler, while the program itself does not.
static int in_signal_handler(void) {
  signal(SIGALRM, on_alarm);
  for (int i = 0; i < 100; ++i) {
    raise(SIGALRM);
    allocate(101, 5);
  }
  return 0;
}

static const struct {
  const char* name;
  int (*run)(void);
} modes[] = {
    {"leaf", leaf},
    {"fork", just_fork},
    {"vfork", vfork_and_exec},
    {"spawn", spawn},
    {"exec", exec_in_place},
    {"fork-exec", fork_and_exec},
    {"daemon", daemonise},
    {"many", many_children},
    {"neat", fork_neatly},
    {"crowd", crowd_of_children},
    {"bare", clone_barely},
    {"generations", fork_for_generations},
    {"fork-in-threads", fork_in_threads},
    {"network", leave_network},
    {"threads", fork_among_threads},
    {"vfork-first", vfork_first},
    {"pid-namespace", new_pid_namespace},
    {"close", close_everything},
    {"drop", drop_privileges},
    {"chroot", change_root},
    {"signal", in_signal_handler},
};

int main(int argc, char** argv) {
  leaf_words[0] = argv[0];
  arguments = argv + 2;
  for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; ++i) {
    if (strcmp(argv[1], modes[i].name) == 0) return modes[i].run();
  }
  return 2;
}
