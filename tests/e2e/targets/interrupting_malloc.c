// An allocator to preload whose malloc is an indirect function: whoever looks it up runs
// choose_malloc(), which sends the thread a signal once the program has armed it.
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void* __libc_malloc(size_t);
extern int armed __attribute__((weak));

__attribute__((used)) static void* (*choose_malloc(void))(size_t) {
  if (&armed != NULL && armed) raise(SIGUSR1);
  return __libc_malloc;
}

void* malloc(size_t) __attribute__((ifunc("choose_malloc")));
