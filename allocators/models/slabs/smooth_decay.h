// How many free pages may stay as time passes: all pages freed in one of 200 steps may stay at
// first, and none of them 200 steps later, along a curve that is flat at both ends. Pages that only
// replace ones that may stay are not counted as freed.
// Follows decay.c of jemalloc 5.3.0, without the random part of its deadlines.
#pragma once

#include <array>
#include <cstdint>

namespace heaptape::allocators::slabs {

class SmoothDecay {
 public:
  static constexpr uint32_t kSteps = 200;
  static constexpr uint64_t kNever = UINT64_MAX;
  static constexpr uint64_t kMostMs = 1'000'000'000'000;  // more is as good as never

  // Pages go from all to none in `milliseconds`; 0: at once; or kNever. Step 1 begins at 0 ns.
  explicit SmoothDecay(uint64_t milliseconds)
      : milliseconds_(milliseconds > kMostMs ? kNever : milliseconds),
        step_ns_(never() ? 0 : milliseconds * 1'000'000 / kSteps) {}

  bool never() const { return milliseconds_ == kNever; }
  bool at_once() const { return milliseconds_ == 0; }

  // Requires neither never() nor at_once(). `pages` are now free. True if a step has passed: then
  // limit_pages() is new.
  bool advance(uint64_t now_ns, uint64_t pages);
  uint64_t limit_pages() const { return limit_pages_; }

 private:
  void shift_backlog(uint64_t steps, uint64_t pages);
  uint64_t backlog_limit() const;

  uint64_t milliseconds_;
  uint64_t step_ns_;
  uint64_t epoch_ns_ = 0;  // when the last step ended
  uint64_t limit_pages_ = 0;
  uint64_t unpurged_pages_ = 0;             // at the last step
  std::array<uint64_t, kSteps> backlog_{};  // pages freed, oldest step first
};

}  // namespace heaptape::allocators::slabs
