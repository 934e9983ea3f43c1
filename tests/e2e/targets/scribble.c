/* Forks a child that writes over the header of the memory that all recorded processes share, as
 * another user where it can, and tries to make the board writable. Then makes 100,000 calls. Exits
 * with 0, or with 1 if the child could write to the board. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int scribble(void) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[4096];
  int failed = 0;
  if (setuid(65534) != 0) perror("setuid");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    unsigned long begin;
    unsigned long offset;
    char access[5];
    if (sscanf(line, "%lx-%*x %4s %lx", &begin, access, &offset) != 3 || offset != 0) continue;
    void* const page = (void*)(uintptr_t)begin;
    if (strstr(line, "heaptape-board") != NULL &&
        mprotect(page, 4096, PROT_READ | PROT_WRITE) == 0) {
      failed = 1;
      memset(page, 0xff, 4096);
    }
    if (strstr(line, "heaptape-session") != NULL) memset(page, 0xff, 4096);
  }
  return failed;
}

int main(void) {
  free(malloc(50));
  const pid_t child = fork();
  if (child == 0) _exit(scribble());
  int status = -1;
  waitpid(child, &status, 0);
  for (int i = 0; i < 50000; ++i) {
    void* volatile block = malloc(101);
    free(block);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}
