// An executable that brings (and exports) a malloc of its own.
#include <stddef.h>
#include <unistd.h>

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

int main(void) {
  free(malloc(10));
  return 0;
}
