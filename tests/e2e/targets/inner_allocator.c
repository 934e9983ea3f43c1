/* Has the texts of an allocator inside, and calls malloc once. Lives until it was sampled, then
 * executes its first argument, if there is one. Built for each allocator, with two of its texts as
 * FIRST and SECOND. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char** argv) {
  puts(FIRST);
  puts(SECOND);
  free(malloc(100));
  const struct timespec wait = {0, 600000000};
  nanosleep(&wait, NULL);
  if (argc > 1) execv(argv[1], argv + 1);
  return 0;
}
