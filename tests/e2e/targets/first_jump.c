// Leaves its first malloc by a jump, while the hook still looks for the real one, then makes 1,000
// calls. Run on interrupting_malloc.so.
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

int armed;

static sigjmp_buf target;

static void jump(int signal) {
  (void)signal;
  siglongjmp(target, 1);
}

int main(void) {
  signal(SIGUSR1, jump);
  armed = 1;
  if (sigsetjmp(target, 1) == 0) free(malloc(103));
  for (int i = 0; i < 1000; ++i) {
    void* block = malloc(101);
    if (block == NULL) return 1;
    free(block);
  }
  return 0;
}
