// Chooses the calls whose stacks are recorded if not all are: those for certain sizes, and those
// that ask for certain bytes. These bytes are chosen at random (a Poisson process), so the number
// of calls that a recorded one stands for follows from its size alone: docs/metrics.md, "Sites". No
// floating point, which the preload library leaves alone.
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/ring/session_layout.h"

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

  // Also chooses all calls for `sizes`, which are Board::stack_sizes; any values are safe.
  void choose(const schema::SizeRange (&sizes)[kMostStackSizes]);
  bool is_by_size() const { return ranges_ != 0; }
  // Some of the calls that are not chosen by size are chosen by their bytes.
  bool is_by_bytes() const { return every_bytes_ != 0; }
  // A call for no bytes counts as one for a byte. A compare for most sizes that are not chosen.
  bool is_chosen(uint64_t bytes) const {
    if (!all_.has(bytes)) [[likely]]
      return false;
    for (uint32_t i = 0; i < ranges_; ++i) {
      if (sizes_[i].has(bytes)) return true;
    }
    return false;
  }

  // The distance in bytes to the next chosen one, at least 1; 0 if all are. More than n with a
  // probability of exp(-n / every_bytes), to within 2^-30.
  uint64_t draw();

 private:
  uint64_t every_bytes_ = 0;
  uint32_t ranges_ = 0;
  schema::SizeRange all_ = {};  // from the least to the most of them
  schema::SizeRange sizes_[kMostStackSizes] = {};
  std::atomic<uint64_t> drawn_{0};
};

}  // namespace heaptape::recorder
