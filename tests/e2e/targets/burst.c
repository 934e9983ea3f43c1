/* burst PAIRS: so many mallocs of 48 bytes, each freed at once, as fast as it can. */
#include <stdlib.h>

int main(int count, char** arguments) {
  for (long i = count > 1 ? atol(arguments[1]) : 0; i > 0; --i) {
    void* volatile block = malloc(48);
    free(block);
  }
  return 0;
}
