// Ends in the way it is told, after a call to malloc and an unfinished line.
//   endings return|exit|_exit|quick_exit|abort|trap|fault|overflow|thread|kill SIGNAL
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void at_exit(void) {
  free(malloc(103));
  write(STDOUT_FILENO, "at exit\n", 8);
}

static void* end_last(void* unused) {
  (void)unused;
  usleep(20000);
  exit(9);
}

// Until the stack is used up, which is a fault like any other.
static int recurse(volatile int depth) {
  volatile char frame[4096];
  frame[0] = (char)depth;
  return depth < 0 ? 0 : recurse(depth + 1) + frame[0];
}

int main(int argc, char** argv) {
  const struct rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const char* how = argc > 1 ? argv[1] : "return";
  free(malloc(101));
  atexit(at_exit);
  printf("ends by %s", how);
  if (strcmp(how, "exit") == 0) exit(258);
  if (strcmp(how, "_exit") == 0) _exit(5);
  if (strcmp(how, "quick_exit") == 0) quick_exit(6);
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "trap") == 0) __builtin_trap();
  if (strcmp(how, "fault") == 0) *(volatile int*)8 = 1;
  if (strcmp(how, "overflow") == 0) return recurse(0);
  if (strcmp(how, "kill") == 0 && argc > 2) raise(atoi(argv[2]));
  if (strcmp(how, "thread") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, end_last, NULL);
    pthread_exit(NULL);
  }
  return 7;
}
