// Says what of the recorder is in its environment. Built in several ways, most of which cannot be
// recorded. Asks for 301 bytes once, then executes its arguments, if it has any.
#include <stdio.h>
#include <stdlib.h>
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
  if (argc > 1) execv(argv[1], argv + 1);
  return 0;
}
