/* A library whose malloc_usable_size tells the time at which a block was made: the
 * milliseconds since the library's first look at its clock, which REPLAY_CLOCK names, or since it
 * was last asked to give memory back. With REPLAY_NAP, malloc sleeps for a millisecond. It knows no
 * free(NULL). */
#include <stdint.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "replay_malloc.h"

static uint64_t to_ms(struct timespec at) {
  return (uint64_t)at.tv_sec * 1000 + (uint64_t)at.tv_nsec / 1000000;
}

static uint64_t now_ms(void) {
  const char* clock = getenv("REPLAY_CLOCK");
  struct timespec at = {0, 0};
  struct timeval of_day;
  if (strcmp(clock, "monotonic") == 0) clock_gettime(CLOCK_MONOTONIC, &at);
  if (strncmp(clock, "number-", 7) == 0) clock_gettime(atoi(clock + 7), &at);
  if (strcmp(clock, "timespec_get") == 0) timespec_get(&at, TIME_UTC);
  if (strcmp(clock, "time") == 0) at.tv_sec = time(NULL);
  if (strcmp(clock, "system-call") == 0) syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &at);
  if (strcmp(clock, "time-call") == 0) at.tv_sec = syscall(SYS_time, NULL);
  if (strcmp(clock, "vdso") == 0) at.tv_sec = getauxval(AT_SYSINFO_EHDR) != 0 ? 1 << 30 : 0;
  if (strcmp(clock, "of-day") == 0 || strcmp(clock, "of-day-call") == 0) {
    if (clock[6] == 0) {
      gettimeofday(&of_day, NULL);
    } else {
      syscall(SYS_gettimeofday, &of_day, NULL);
    }
    at = (struct timespec){of_day.tv_sec, of_day.tv_usec * 1000};
  }
  return to_ms(at);
}

static uint64_t begin_ms;

__attribute__((constructor)) static void begin(void) {
  begin_ms = now_ms();
}

void* malloc(size_t size) {
  if (getenv("REPLAY_NAP") != NULL) usleep(1000);
  uint64_t* block = bump(size < 16 ? 16 : size);
  if (block != NULL) *block = now_ms() - begin_ms;
  return block;
}
void* calloc(size_t count, size_t size) {
  return malloc(count * size);
}
void* realloc(void* old, size_t size) {
  (void)old;
  return malloc(size);
}
void free(void* block) {
  if (block == NULL) abort();
}
int malloc_trim(size_t pad) {
  (void)pad;
  begin_ms = now_ms();
  return 1;
}
size_t malloc_usable_size(void* block) {
  return *(uint64_t*)block;
}
