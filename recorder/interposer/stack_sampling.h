// Chooses the calls whose stacks are recorded if not all are: those that ask for certain bytes.
// These are chosen at random (a Poisson process), so the number of calls that a recorded one stands
// for follows from its size alone: docs/metrics.md, "Sites". No floating point, which the preload
// library leaves alone.
#pragma once

#include <atomic>
#include <cstdint>

namespace heaptape::recorder {

// Any thread, at any time after begin().
class StackSampling {
 public:
  // A byte in `every_bytes` on average, at most kMostStackBytes; 0: every byte. Equal seeds give
  // equal draws.
  void begin(uint64_t every_bytes, uint64_t seed) {
    every_bytes_ = every_bytes;
    drawn_.store(seed, std::memory_order_relaxed);
  }

  // The distance in bytes to the next chosen one, at least 1; 0 if all are. More than n with a
  // probability of exp(-n / every_bytes), to within 2^-30.
  uint64_t draw();

 private:
  uint64_t every_bytes_ = 0;
  std::atomic<uint64_t> drawn_{0};
};

}  // namespace heaptape::recorder
