/* A library whose tenth malloc goes wrong, in the way that REPLAY_FAIL names. It aligns no block as
 * asked. */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "replay_malloc.h"

static void* last;
static void* bad;
static unsigned calls;

static int is_mode(const char* mode) {
  return strcmp(getenv("REPLAY_FAIL"), mode) == 0;
}

void* malloc(size_t size) {
  char* block = bump(size + 64);
  if (++calls == 10) {
    bad = block;
    if (is_mode("crash")) raise(SIGSEGV);
    if (is_mode("exit")) _exit(3);
    while (is_mode("hang")) pause();
    if (is_mode("overlap")) bad = last;
    if (is_mode("misalign")) bad = block + 4;
    return bad;
  }
  return last = block;
}
void* calloc(size_t count, size_t size) {
  return malloc(count * size);
}
void* realloc(void* old, size_t size) {
  return bump_again(old, size);
}
void* memalign(size_t alignment, size_t size) {
  (void)alignment;
  return bump(size);
}
void free(void* block) {
  (void)block;
}
size_t malloc_usable_size(void* block) {
  if (block == bad && is_mode("short")) return 1;
  if (block == bad && is_mode("huge")) return SIZE_MAX / 2;
  return 100;
}

__attribute__((constructor)) static void begin(void) {
  if (is_mode("start")) abort();
  if (is_mode("chatty") && write(STDOUT_FILENO, "hello from malloc\n", 18) != 18) abort();
}
__attribute__((destructor)) static void end(void) {
  if (is_mode("chatty") && write(STDERR_FILENO, "goodbye\n", 8) != 8) abort();
}
