// Restricts its own system calls, then allocates on:
//   restricted MODE: "filter" or "filter-call" allow what an allocator needs, by prctl or by
//   syscall(), "filter-again" tries one more and is refused, "filter-fork" has a child under it;
//   "strict" allows read, write and _exit; "tsc" and "tsc-call" forbid only to read the TSC, after
//   a second thread has ended
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALLOW(name)                                      \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), \
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

// No futex, clock_gettime, getpid, gettid, nanosleep, sched_yield.
static struct sock_filter allocator_only[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(getrandom),
    ALLOW(prctl),
    ALLOW(clone),
    ALLOW(set_robust_list),
    ALLOW(rt_sigprocmask),
    ALLOW(wait4),
    ALLOW(brk),
    ALLOW(mmap),
    ALLOW(munmap),
    ALLOW(mremap),
    ALLOW(madvise),
    ALLOW(read),
    ALLOW(write),
    ALLOW(exit),
    ALLOW(exit_group),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};

static int restrict_calls(const char* mode) {
  struct sock_fprog program = {sizeof allocator_only / sizeof allocator_only[0], allocator_only};
  if (strcmp(mode, "tsc") == 0) return prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
  if (strcmp(mode, "tsc-call") == 0) return (int)syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV);
  if (strcmp(mode, "strict") == 0) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  if (strcmp(mode, "filter-call") != 0) {
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return -1;
    const int again = strcmp(mode, "filter-again") == 0;
    return again && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == 0;
  }
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

static void* allocate(void* unused) {
  (void)unused;
  free(malloc(101));
  return NULL;
}

static void have_company(void) {
  pthread_t thread;
  free(malloc(101));
  if (pthread_create(&thread, NULL, allocate, NULL) == 0) pthread_join(thread, NULL);
}

int main(int argc, char** argv) {
  void* blocks[16] = {NULL};
  if (argc != 2) return 99;
  if (strncmp(argv[1], "tsc", 3) == 0) have_company();
  if (strcmp(argv[1], "strict") == 0) free(malloc(101));  // it could not get memory later
  if (restrict_calls(argv[1]) != 0) return 99;
  if (strcmp(argv[1], "filter-fork") == 0) {
    if (fork() == 0) {
      free(malloc(201));
      _exit(0);
    }
    wait(NULL);
  }
  for (int i = 0; i < 300000; ++i) {
    free(blocks[i % 16]);
    blocks[i % 16] = malloc(103);
  }
  if (write(STDOUT_FILENO, "done\n", 5) != 5) return 98;
  syscall(SYS_exit, 7);
  return 0;
}
