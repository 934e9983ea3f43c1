// The system's clocks in nanoseconds. Does not need the C++ run-time library.
#pragma once

#include <time.h>

#include <cstdint>

namespace heaptape::base {

inline constexpr uint64_t kMillisecondNs = 1'000'000;

inline uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

inline uint64_t monotonic_ns() {
  return clock_ns(CLOCK_MONOTONIC);
}

// Processor time of this thread.
inline uint64_t thread_cpu_ns() {
  return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

}  // namespace heaptape::base
