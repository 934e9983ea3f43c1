// Threads that come and go. Prints how many calls of its own it made; their sizes are odd, those of
// libc and libstdc++ are not.
//   thread_lives churn N [MS]
//                          N threads one after the other, two calls each, and a sleep
//   thread_lives crowd N   N threads alive at the same time, two calls each
//   thread_lives ends N    N threads that allocate while they end: in the destructors of
//                          thread_local objects and of pthread keys that are set again
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

std::atomic<unsigned long> calls{0};
pthread_barrier_t everybody_is_here;
pthread_key_t key;

void allocate_and_free(size_t size) {
  void* block = std::malloc(size);
  std::free(block);
  calls += 2;
}

struct Lingering {
  Lingering() { allocate_and_free(11); }
  ~Lingering() { allocate_and_free(13); }
  char touched = 0;
};
thread_local Lingering lingering;

void key_destructor(void* rounds_left) {
  allocate_and_free(15);
  const auto left = reinterpret_cast<uintptr_t>(rounds_left);
  if (left > 1) pthread_setspecific(key, reinterpret_cast<void*>(left - 1));
}

void* churn(void*) {
  allocate_and_free(17);
  return nullptr;
}

void* crowd(void*) {
  pthread_barrier_wait(&everybody_is_here);
  allocate_and_free(19);
  pthread_barrier_wait(&everybody_is_here);
  return nullptr;
}

void* ends(void*) {
  lingering.touched = 1;
  pthread_setspecific(key, reinterpret_cast<void*>(3));
  return nullptr;
}

// Stacks come from here and not from malloc.
pthread_t start(void* (*function)(void*)) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 << 10);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, function, nullptr) != 0) {
    const char text[] = "cannot start so many threads\n";
    _exit(write(2, text, sizeof text - 1) > 0 ? 77 : 78);
  }
  pthread_attr_destroy(&attributes);
  return thread;
}

void run_together(void* (*function)(void*), int count) {
  static pthread_t threads[16384];
  for (int i = 0; i < count; ++i) threads[i] = start(function);
  for (int i = 0; i < count; ++i) pthread_join(threads[i], nullptr);
}

}  // namespace

int main(int words, char** argv) {
  const int count = std::atoi(argv[2]);
  pthread_key_create(&key, key_destructor);
  if (std::strcmp(argv[1], "churn") == 0) {
    for (int i = 0; i < count; ++i) pthread_join(start(churn), nullptr);
    if (words > 3) usleep(static_cast<useconds_t>(std::atoi(argv[3])) * 1000);
  } else if (std::strcmp(argv[1], "crowd") == 0) {
    pthread_barrier_init(&everybody_is_here, nullptr, static_cast<unsigned>(count));
    run_together(crowd, count);
  } else {
    run_together(ends, count);
  }
  char text[32];
  const int length = std::snprintf(text, sizeof text, "%lu\n", calls.load());
  return write(1, text, static_cast<size_t>(length)) == length ? 0 : 1;
}
