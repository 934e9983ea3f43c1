// How long a recorded process waits for the recorder: kPatienceMs without a sign of progress from
// it, and kLongPatienceMs while it is known not to be stopped. docs/decisions/0013-waits.md.
#pragma once

#include <time.h>

#include <x86intrin.h>

#include <cstdint>

#include "recorder/ring/raw_syscall.h"
#include "recorder/ring/session_layout.h"

namespace heaptape::recorder {

// A system call, not libc's clock, which another library may have interposed.
inline uint64_t kernel_clock_ns() {
  timespec now{};
  raw_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, as_long(&now));
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Makes a system call only if the session has no use for the TSC.
class WaitClock {
 public:
  explicit WaitClock(const Board& board) : ticks_per_ms_(board.ticks_per_ms) {}

  uint64_t now() const { return ticks_per_ms_ != 0 ? __rdtsc() : kernel_clock_ns(); }
  uint64_t ticks_per_ms() const { return ticks_per_ms_ != 0 ? ticks_per_ms_ : 1'000'000; }

 private:
  const uint64_t ticks_per_ms_;
};

// One wait, which starts over whenever the sign of progress changes.
class Patience {
 public:
  Patience(const Board& board, uint64_t sign) : clock_(board), sign_(sign), begin_(clock_.now()) {}

  // Whether to go on waiting. After kPatienceMs it asks is_stopped() whether the recorder is.
  template <typename IsStopped>
  bool lasts(uint64_t sign, IsStopped is_stopped) {
    const uint64_t now = clock_.now();
    if (sign != sign_) {
      sign_ = sign;
      since_ = now;
    }
    const uint64_t waited = now - since_;
    if (waited < kPatienceMs * clock_.ticks_per_ms()) return true;
    return waited < kLongPatienceMs * clock_.ticks_per_ms() && !is_stopped();
  }
  uint64_t waited_ns() const { return (clock_.now() - begin_) * 1'000'000 / clock_.ticks_per_ms(); }

 private:
  const WaitClock clock_;
  uint64_t sign_;
  const uint64_t begin_;
  uint64_t since_ = begin_;
};

}  // namespace heaptape::recorder
