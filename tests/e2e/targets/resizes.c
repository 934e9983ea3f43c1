/* Makes 2,000 blocks of 555 bytes by realloc, waits 300 ms, and makes 900 more. */
#include <stdlib.h>
#include <unistd.h>

static void* blocks[2900];

int main(void) {
  for (int i = 0; i < 2000; ++i) blocks[i] = realloc(NULL, 555);
  usleep(300000);
  for (int i = 2000; i < 2900; ++i) blocks[i] = realloc(NULL, 555);
  return blocks[0] == NULL;
}
