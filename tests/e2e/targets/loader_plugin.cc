// A library whose initialization waits for a thread, and that thread is the first of its process to
// use operator new: whoever looks symbols up there waits for the loader, which waits for us.
#include <pthread.h>

#include <new>

namespace {

void* allocate(void*) {
  ::operator delete(::operator new(101));
  return nullptr;
}

struct Starter {
  Starter() {
    pthread_t thread;
    pthread_create(&thread, nullptr, allocate, nullptr);
    pthread_join(thread, nullptr);
  }
} starter;

}  // namespace
