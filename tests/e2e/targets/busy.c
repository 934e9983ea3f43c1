/* busy MILLISECONDS [FILE]: calls malloc and free for so long, and a little more slowly than a
   recorder can follow; then creates FILE, says how many blocks it made, and exits with 7. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { LIVE = 1024, BATCH = 2000 };

static long now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(int count, char** arguments) {
  static void* blocks[LIVE];
  const long end = now_ms() + (count > 1 ? atol(arguments[1]) : 0);
  unsigned long made = 0;
  unsigned seed = 1;
  while (now_ms() < end) {
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
