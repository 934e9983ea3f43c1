// How many free pages may stay while time goes by: those that came up during one of 200 steps may
// stay in full at first and not at all 200 steps later, along a curve that is flat at both ends.
// Follows decay.c of jemalloc 5.3.0, without the random part of its deadlines.
#pragma once

#include <array>
#include <cstdint>

namespace heaptape::allocators::slabs {

class SmoothDecay {
 public:
  static constexpr uint32_t kSteps = 200;
  static constexpr uint64_t kNever = UINT64_MAX;

  // From full to nothing in `milliseconds`; 0: at once; kNever.
  explicit SmoothDecay(uint64_t milliseconds, uint64_t now_ns = 0)
      : milliseconds_(milliseconds),
        step_ns_(milliseconds == kNever ? 0 : milliseconds * 1'000'000 / kSteps),
        epoch_ns_(now_ns) {}

  bool never() const { return milliseconds_ == kNever; }
  bool at_once() const { return milliseconds_ == 0; }

  // Neither never() nor at_once(). True if a step has passed: then limit_pages() is new.
  // `pages` are free now.
  bool advance(uint64_t now_ns, uint64_t pages);
  uint64_t limit_pages() const { return limit_pages_; }

 private:
  void shift_backlog(uint64_t steps, uint64_t pages);
  uint64_t backlog_limit() const;

  uint64_t milliseconds_;
  uint64_t step_ns_;
  uint64_t epoch_ns_;
  uint64_t limit_pages_ = 0;
  uint64_t unpurged_pages_ = 0;             // at the last step
  std::array<uint64_t, kSteps> backlog_{};  // pages that came up, oldest step first
};

}  // namespace heaptape::allocators::slabs
