/* busy UNTIL [MADE]: calls malloc and free until the file UNTIL exists (for at most two minutes),
   and 50 ms longer, a little more slowly than a recorder can follow; then creates MADE, says how
   many blocks it made, and exits with 7. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { LIVE = 1024, BATCH = 2000, LONGEST_MS = 120000, LONGER_MS = 50 };

static long now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(int count, char** arguments) {
  static void* blocks[LIVE];
  long end = now_ms() + LONGEST_MS;
  unsigned long made = 0;
  unsigned seed = 1;
  if (count < 2) return 2;
  while (now_ms() < end) {
    if (access(arguments[1], F_OK) == 0 && end > now_ms() + LONGER_MS) end = now_ms() + LONGER_MS;
    for (int i = 0; i < BATCH; ++i) {
      seed = seed * 1103515245 + 12345;
      void** block = &blocks[(seed >> 16) % LIVE];
      free(*block);
      *block = malloc(16 + (seed >> 8) % 500);
      ++made;
    }
    usleep(500);
  }
  if (count > 2) close(open(arguments[2], O_CREAT | O_WRONLY, 0600));
  printf("%lu\n", made);
  return 7;
}
