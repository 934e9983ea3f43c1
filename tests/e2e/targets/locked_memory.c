// Prints how much address space and locked memory it can use: locks all its memory, then takes
// what its limit on address space leaves.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int main(void) {
  free(malloc(101));
  void* large = malloc(64 << 20);
  const int locked = mlockall(MCL_CURRENT);
  char line[256] = "";
  unsigned long locked_kib = 0;
  FILE* status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL) {
    if (strncmp(line, "VmLck:", 6) == 0) sscanf(line + 6, "%lu", &locked_kib);
  }
  printf("large %s, locked %s, under 128 MiB %s\n", large != NULL ? "yes" : "no",
         locked == 0 ? "yes" : "no", locked_kib < (128 << 10) ? "yes" : "no");
  return 0;
}
