#include <stdlib.h>

void release(void* block) {
  free(block);
}
