// Opens the library argv[1], which only this program's RUNPATH leads to, with RTLD_DEEPBIND, and
// has it free a hundred blocks while another thread allocates. "dlmopen" as argv[2] opens it in a
// namespace of its own; "noload" opens it with RTLD_DEEPBIND only if it is there already.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile int stop;

static void* allocate(void* unused) {
  while (!stop) free(malloc(103));
  return unused;
}

int main(int argc, char** argv) {
  pthread_t thread;
  void* library;
  if (argc == 3 && strcmp(argv[2], "dlmopen") == 0) {
    library = dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW);
    if (library == NULL) puts(dlerror());
    return library == NULL;
  }
  if (argc == 3) {
    free(malloc(101));
    return dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND | RTLD_NOLOAD) == NULL;
  }
  library = dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND);
  if (library == NULL) {
    puts(dlerror());
    return 1;
  }
  void (*release)(void*);
  *(void**)&release = dlsym(library, "release");
  pthread_create(&thread, NULL, allocate, NULL);
  for (int i = 0; i < 100; ++i) release(malloc(101));
  stop = 1;
  pthread_join(thread, NULL);
  return 0;
}
