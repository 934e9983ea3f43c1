// When free pages decay: without a background thread, during some of the calls. Follows ticker.h of
// jemalloc 5.3.0.
#pragma once

#include <cstdint>

#include "allocators/models/slabs/arena.h"

namespace heaptape::allocators::slabs {

// Counts a thread's calls that reach an arena, and lets the arena's pages decay at every 1,000th.
// jemalloc draws these distances from a geometric distribution with this mean.
class DecayTicker {
 public:
  static constexpr int32_t kTicksPerDecay = 1000;

  void tick(Arena& arena, uint64_t now_ns, uint32_t ticks = 1) {
    left_ -= static_cast<int32_t>(ticks);
    if (left_ >= 0) return;
    left_ = kTicksPerDecay;
    arena.pages.decay(now_ns);
  }

 private:
  int32_t left_ = kTicksPerDecay;
};

}  // namespace heaptape::allocators::slabs
