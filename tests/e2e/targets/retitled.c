/* Calls itself something else, as setproctitle(3) does. Lives until it was sampled so. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  free(malloc(100));
  char* const end = argv[1] + strlen(argv[1]);
  memset(argv[0], 0, (size_t)(end - argv[0]));
  strcpy(argv[0], "serves 42");
  const struct timespec wait = {0, 500000000};
  nanosleep(&wait, NULL);
  return 0;
}
