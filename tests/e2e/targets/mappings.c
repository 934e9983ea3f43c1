/* Maps memory far from malloc's, by itself and by a library, and waits until it was sampled so: 12
 * MiB of the library, 5 of its own (of 8 the rest is unmapped), 3 that the library mapped and it
 * moved, and 6 of its variables. With "break" 2 more for which the library moved the break, with
 * "name" 4 of its own with a name, with "raw" 4 by a system call of its own. With "fork" a child
 * unmaps 4 of the 12, and waits, too. Ends with 77 where the kernel has no names. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

enum { kMiB = 1 << 20, kSampledWithinMs = 400 };

void* map_bytes(void* wanted, size_t bytes);
void* grow_break(size_t bytes);

static char variables[6 * kMiB];

#ifdef FIRST
/* Texts of an allocator inside. */
const char* const texts[] = {FIRST, SECOND};
#endif

static void* at(size_t number) {
  return (void*)(0x100000000000 + (number << 32));
}

static void wait_for_sample(void) {
  const struct timespec wait = {0, kSampledWithinMs * 1000000L};
  memset(malloc(1000), 1, 1000);
  nanosleep(&wait, NULL);
}

static void* map_own(void* wanted, size_t bytes) {
  void* const block =
      mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return block == MAP_FAILED ? NULL : memset(block, 1, bytes);
}

int main(int argc, char** argv) {
  const char* const mode = argc > 1 ? argv[1] : "";
  memset(malloc(1000), 1, 1000);
  char* const of_library = map_bytes(at(1), 12 * kMiB);
  char* const own = map_own(at(2), 8 * kMiB);
  if (of_library == NULL || own == NULL || munmap(own + 2 * kMiB, 3 * kMiB) != 0) return 3;
  char* const moved = map_bytes(at(3), 3 * kMiB);
  if (mremap(moved, 3 * kMiB, 3 * kMiB, MREMAP_MAYMOVE | MREMAP_FIXED, at(4)) != at(4)) return 4;
  memset(variables, 1, sizeof variables);
  if (strcmp(mode, "break") == 0) grow_break(2 * kMiB);
  if (strcmp(mode, "name") == 0) {
    char* const named = map_own(at(5), 4 * kMiB);
    if (prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, named, 4 * kMiB, "my heap") != 0) return 77;
  }
  if (strcmp(mode, "raw") == 0) {
    void* const raw = (void*)syscall(SYS_mmap, at(6), 4 * kMiB, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(raw, 1, 4 * kMiB);
  }
  if (strcmp(mode, "fork") == 0) {
    const pid_t child = fork();
    if (child == 0) {
      if (munmap(of_library, 4 * kMiB) != 0) _exit(5);
      wait_for_sample();
      _exit(0);
    }
    waitpid(child, NULL, 0);
  }
  wait_for_sample();
  _exit(0);
}
