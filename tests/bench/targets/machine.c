// What this machine's processors cost: machine. Prints lines of a name and nanoseconds, medians of
// eleven runs: a step of a loop, which adds to what the step before made; rdtsc and rdtscp; the way
// of a cache line from one core to another.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum { kRuns = 11, kSteps = 1000000, kTurns = 50000 };

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double plain_loop(void) {
  uint64_t x = 1;
  const double begin = now_ns();
  for (int i = 0; i < kSteps; ++i) __asm__ volatile("add $1, %0" : "+r"(x));
  return (now_ns() - begin) / kSteps;
}

static double stamp(void) {
  const double begin = now_ns();
  for (int i = 0; i < kSteps; ++i) (void)*(volatile uint64_t*)&(uint64_t){__rdtsc()};
  return (now_ns() - begin) / kSteps;
}

static double ordered_stamp(void) {
  unsigned core;
  const double begin = now_ns();
  for (int i = 0; i < kSteps; ++i) (void)*(volatile uint64_t*)&(uint64_t){__rdtscp(&core)};
  return (now_ns() - begin) / kSteps;
}

static _Alignas(64) atomic_uint turn;

static void pin_to(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  pthread_setaffinity_np(pthread_self(), sizeof cores, &cores);
}

static void* answer(void* unused) {
  pin_to(1);
  for (unsigned i = 1; i < 2 * kTurns; i += 2) {
    while (atomic_load_explicit(&turn, memory_order_acquire) != i) {
    }
    atomic_store_explicit(&turn, i + 1, memory_order_release);
  }
  return unused;
}

static double line_between_cores(void) {
  pthread_t other;
  atomic_store(&turn, 0);
  if (pthread_create(&other, NULL, answer, NULL) != 0) abort();
  pin_to(0);
  const double begin = now_ns();
  for (unsigned i = 0; i < 2 * kTurns; i += 2) {
    atomic_store_explicit(&turn, i + 1, memory_order_release);
    while (atomic_load_explicit(&turn, memory_order_acquire) != i + 2) {
    }
  }
  const double ns = (now_ns() - begin) / (2 * kTurns);
  pthread_join(other, NULL);
  return ns;
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return (x > y) - (x < y);
}

static void print_median(const char* name, double (*measure)(void)) {
  double runs[kRuns];
  for (int i = 0; i < kRuns; ++i) runs[i] = measure();
  qsort(runs, kRuns, sizeof *runs, by_value);
  printf("%s %.2f\n", name, runs[kRuns / 2]);
}

int main(void) {
  print_median("dependent add", plain_loop);
  print_median("rdtsc", stamp);
  print_median("rdtscp", ordered_stamp);
  if (sysconf(_SC_NPROCESSORS_ONLN) > 1) {
    print_median("cache line between cores, one way", line_between_cores);
  }
  return 0;
}
