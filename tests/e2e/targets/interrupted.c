// Interrupts its own malloc and free by a timer, and then, in the recorder's code only (so that the
// allocator itself is never left half-way), leaves them by a jump or calls malloc and free:
//   interrupted jump|call PAIRS
// Prints how many calls it began under the timer, and how often it interrupted one. Does not leave
// the very beginning of a function, where the recorder cannot know of the call yet.
#define _GNU_SOURCE
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

static uintptr_t begin, end;  // of the recorder's library; empty without one
static volatile unsigned long calls, handler_calls, interruptions;
static int jumps;
static sigjmp_buf target;

static int find_library(struct dl_phdr_info* info, size_t bytes, void* unused) {
  (void)bytes;
  (void)unused;
  if (strstr(info->dlpi_name, "heaptape-interposer") == NULL) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0) continue;
    begin = info->dlpi_addr + part->p_vaddr;
    end = begin + part->p_memsz;
  }
  return 1;
}

static int begins(uintptr_t function, uintptr_t at) {
  return at - function < 80;
}

static void interrupt(int signal, siginfo_t* info, void* context) {
  (void)signal;
  (void)info;
  const uintptr_t at = (uintptr_t)((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
  if (at < begin || at >= end) return;
  if (jumps && (begins((uintptr_t)malloc, at) || begins((uintptr_t)free, at))) return;
  ++interruptions;
  if (jumps) siglongjmp(target, 1);
  handler_calls += 2;
  free(malloc(202));
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  jumps = strcmp(argv[1], "jump") == 0;
  const unsigned long pairs = strtoul(argv[2], NULL, 10);
  dl_iterate_phdr(find_library, NULL);
  free(malloc(303));  // the recorder knows the thread from now on
  struct sigaction action = {.sa_sigaction = interrupt, .sa_flags = SA_SIGINFO};
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval often = {{0, 50}, {0, 50}};
  setitimer(ITIMER_REAL, &often, NULL);
  volatile unsigned long done = 0;
  sigsetjmp(target, 1);
  while (done < pairs) {
    ++done;
    ++calls;
    void* const block = malloc(101);
    ++calls;
    free(block);
  }
  signal(SIGALRM, SIG_IGN);
  char text[64];
  const int length = snprintf(text, sizeof text, "%lu %lu\n", calls + handler_calls, interruptions);
  return write(1, text, (size_t)length) == length ? 0 : 3;
}
