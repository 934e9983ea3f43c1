/* Says what calls that map memory return, and errno, where they succeed and where they fail. Blocks
 * of malloc stand between them. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void* const kAt = (void*)0x100000000000;
enum { kBytes = 16 * 4096 };

static void say(const char* what, long result) {
  const int error = errno;
  free(malloc(100));
  printf("%s %ld %s\n", what, result, strerror(error));
  errno = 0;
}

static void* map_at(void* address, size_t bytes, int protection, int flags, int file) {
  return mmap(address, bytes, protection, flags | MAP_PRIVATE, file, 0);
}

int main(void) {
  if (map_at(NULL, 0, PROT_READ, MAP_ANONYMOUS, -1) != MAP_FAILED || errno != EINVAL) return 2;
  /* A function that the recorder interposes, too, before the first call to malloc. */
  if (syscall(SYS_getpid) != getpid()) return 1;
  errno = 0;
  say("map", (long)map_at(kAt, kBytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_FIXED, -1));
  say("map nothing", (long)map_at(kAt, 0, PROT_READ, MAP_ANONYMOUS, -1));
  say("map no file", (long)map_at(NULL, 4096, PROT_READ, 0, 12345));
  say("map64", (long)mmap64((char*)kAt + kBytes, 4096, PROT_READ,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
  memset(kAt, 7, kBytes);
  say("protect", mprotect(kAt, 4096, PROT_READ));
  say("protect odd", mprotect((char*)kAt + 1, 4096, PROT_READ));
  say("advise", madvise((char*)kAt + 4096, 4096, MADV_DONTNEED));
  say("dropped", ((char*)kAt)[4096]);
  say("advise nonsense", madvise(kAt, 4096, 12345));
  say("move", (long)mremap((char*)kAt + 8192, 4096, 8192, MREMAP_MAYMOVE | MREMAP_FIXED,
                           (char*)kAt + 64 * 4096));
  say("kept", ((char*)kAt)[64 * 4096]);
  say("move nothing", (long)mremap((char*)kAt + (1 << 30), 4096, 8192, 0));
  say("grow where there is no room", (long)mremap(kAt, 4096, 8192, 0));
  say("grow beyond all memory", (long)mremap(kAt, 4096, (size_t)1 << 60, MREMAP_MAYMOVE));
  say("unmap all memory", munmap(kAt, -(size_t)4096));
  say("unmap", munmap(kAt, kBytes));
  say("unmap odd", munmap((char*)kAt + 1, 4096));
  say("unmap nothing", munmap(kAt, 0));
  say("unmap twice", munmap(kAt, kBytes));
  char* const end = sbrk(0);
  say("sbrk", (char*)sbrk(8192) - end);
  memset(end, 1, 8192);
  say("sbrk back", (char*)sbrk(-4096) - end);
  say("brk", brk(end + 65536));
  say("brk done", (char*)sbrk(0) - end);
  say("brk back", brk(end));
  say("brk done", (char*)sbrk(0) - end);
  say("brk too far", brk((void*)-1L));
  say("sbrk too far", (long)sbrk((intptr_t)1 << 62));
  return 0;
}
