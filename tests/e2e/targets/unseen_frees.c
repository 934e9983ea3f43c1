// Gives blocks up behind the hooks' back, as a library opened with RTLD_DEEPBIND does: 100 blocks
// of 101 bytes, each of which the next malloc hands out again. A second thread keeps busy, so that
// the calls have to be merged.
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int over;

static void* keep_busy(void* unused) {
  (void)unused;
  while (!over) free(malloc(103));
  return NULL;
}

int main(void) {
  void* libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (libc == NULL) return 2;
  void (*real_free)(void*);
  *(void**)&real_free = dlsym(libc, "free");
  pthread_t thread;
  pthread_create(&thread, NULL, keep_busy, NULL);
  for (int i = 0; i < 100; ++i) real_free(malloc(101));
  over = 1;
  pthread_join(thread, NULL);
  return 0;
}
