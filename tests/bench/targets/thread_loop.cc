// The same loop on several threads, each with slots of its own: thread_loop THREADS EVENTS. Prints
// the nanoseconds for each of a thread's.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

void run(uint64_t seed, long events) {
  std::vector<void*> slots(4096);
  uint64_t x = seed;
  for (long i = 0; i < events; i++) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    void*& slot = slots[x & 4095];
    if (slot != nullptr) {
      std::free(slot);
      slot = nullptr;
    } else {
      slot = std::malloc(16 + ((x >> 20) & 1023));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const long events = argc > 2 ? std::atol(argv[2]) : 5000000;
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back(run, 88172645463325252 + static_cast<uint64_t>(i) * 77, events);
  }
  for (std::thread& thread : running) thread.join();
  const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - begin;
  std::printf("%f\n", elapsed.count() / static_cast<double>(events));
}
