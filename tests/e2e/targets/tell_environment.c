// Says what of the recorder is in its environment. Built in several ways, most of which cannot be
// recorded. Asks for 301 bytes once, then executes PROGRAM, if there is one:
//   tell_environment [-e PROGRAM [ARGUMENT...]]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef OWN_MALLOC
static char memory[1 << 20];
static size_t used;
void* malloc(size_t size) {
  void* block = memory + used;
  used += (size + 15) & ~(size_t)15;
  return block;
}
void free(void* block) {
  (void)block;
}
#endif

int main(int argc, char** argv) {
  const char* preload = getenv("LD_PRELOAD");
  free(malloc(301));
  printf("preload: %s, session: %s\n", preload != NULL ? preload : "none",
         getenv("HEAPTAPE_SESSION") != NULL ? "set" : "none");
  fflush(stdout);
  if (argc > 2 && strcmp(argv[1], "-e") == 0) execv(argv[2], argv + 2);
  return 0;
}
