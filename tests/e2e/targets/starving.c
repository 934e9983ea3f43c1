// Allocates until its address space is full, and dies of the NULL that it does not expect. Counts
// the calls it has made in FILE, which is shared memory.
//   starving FILE MIB    with so much address space more than it begins with
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "endless.h"

// Pages, of this process.
static unsigned long address_space(void) {
  char text[32] = {0};
  const int fd = open("/proc/self/statm", O_RDONLY);
  const ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  return got > 0 ? strtoul(text, NULL, 10) : 0;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int fd = open(argv[1], O_RDWR);
  struct Endless* shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (shared == MAP_FAILED) return 3;
  unsigned seed = 1;
  free(malloc(100));  // from then on it is recorded
  shared->calls[0] += 2;
  const rlim_t most = address_space() * (unsigned long)sysconf(_SC_PAGESIZE) +
                      ((rlim_t)strtoul(argv[2], NULL, 10) << 20);
  const struct rlimit limit = {most, most};
  if (setrlimit(RLIMIT_AS, &limit) != 0) return 4;
  for (;;) {
    seed = seed * 1103515245 + 12345;
    const size_t size = 1 + (seed >> 16) % 1000;
    char* const block = malloc(size);
    ++shared->calls[0];
    memset(block, 1, size);
    free(malloc(size / 2));
    shared->calls[0] += 2;
  }
}
