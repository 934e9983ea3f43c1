/* daemon: goes into the background and exits with 5. What runs on calls malloc only after 300 ms:
   1,000 times for 778 bytes. */
#include <stdlib.h>
#include <unistd.h>

enum { PAUSE_US = 300000, CALLS = 1000 };

int main(void) {
  free(malloc(1));
  if (fork() != 0) return 5;
  setsid();
  for (int i = 0; i < 3; ++i) close(i);
  usleep(PAUSE_US);
  for (int i = 0; i < CALLS; ++i) free(malloc(778));
  return 0;
}
