/* Forks a child that writes over all the memory of the recording that it can reach, as another user
 * where it can, and goes on doing so for more than a second where all processes share it. Meanwhile
 * another child makes 1,000 calls, and this process 1,000,000, and 100 in each of 20 threads, one
 * after the other. Exits with 0, or with 1 if the first child could write to the board. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kFileBytes = 32 << 20, kLobbyBytes = 68 << 10, kSeconds = 2 };

static void* lobby = NULL;

/* A longer mapping of the same file. */
static void write_over(void* page, const char* name) {
  if (strstr(name, "heaptape-lobby") != NULL) {
    lobby = page;
  } else if (strstr(name, "heaptape-pool") != NULL) {
    void* const all = mremap(page, 0, kFileBytes, MREMAP_MAYMOVE);
    if (all != MAP_FAILED) memset(all, 0xff, kFileBytes);
  }
}

/* Says through `begun` when it has written over all. */
static int scribble(int begun) {
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
    write_over(page, line);
  }
  const time_t end = time(NULL) + kSeconds;
  for (int i = 0; lobby != NULL && time(NULL) < end; ++i) {
    memset(lobby, i % 2 - 1, kLobbyBytes);
    if (i == 1 && write(begun, "", 1) != 1) return 4;
  }
  return lobby != NULL ? failed : 2;
}

static void call(size_t size, int pairs) {
  for (int i = 0; i < pairs; ++i) {
    void* volatile block = malloc(size);
    free(block);
  }
}

static void* call_in_thread(void* nothing) {
  call(103, 50);
  return nothing;
}

int main(void) {
  int ends[2];
  char byte;
  call(50, 1);
  if (pipe(ends) != 0) return 5;
  const pid_t hostile = fork();
  if (hostile == 0) _exit(scribble(ends[1]));
  if (read(ends[0], &byte, 1) != 1) return 6;
  const pid_t other = fork();
  if (other == 0) {
    call(201, 500);
    _exit(0);
  }
  call(101, 500000);
  for (int i = 0; i < 20; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, call_in_thread, NULL);
    pthread_join(thread, NULL);
  }
  waitpid(other, NULL, 0);
  int status = -1;
  waitpid(hostile, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}
