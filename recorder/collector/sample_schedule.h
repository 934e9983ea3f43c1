// When a process is sampled.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace heaptape::recorder {

// Samples are frequent at first, then ever rarer, unless the program grows: while it asks for much
// memory, and gets it, they are frequent again. They never take more than 2 % of a processor, of
// which the processes get equal shares. Times are monotonic. One thread.
class SampleSchedule {
 public:
  static constexpr uint64_t kFirstNs = 2 * base::kMillisecondNs;
  static constexpr uint64_t kMaxEveryNs = 100 * base::kMillisecondNs;
  static constexpr uint64_t kCostFactor = 50;
  // A program is sampled early once it has requested this many bytes, and this share of its memory,
  // since the last sample. If it did not grow, the wait before the next early sample doubles.
  static constexpr uint64_t kMuchBytes = 1 << 20;
  static constexpr uint64_t kMuchShare = 8;
  static constexpr uint64_t kGrowthShare = 16;  // less is no growth

  // The first sample is due then.
  void begin_at(uint64_t now_ns) { latest_ns_ = earliest_ns_ = now_ns; }

  // `asked_bytes`: those that the program's calls have asked for so far.
  bool is_due(uint64_t now_ns, uint64_t asked_bytes) {
    if (latest_ns_ == 0) latest_ns_ = earliest_ns_ = now_ns + kFirstNs;
    return now_ns >= latest_ns_ || (now_ns >= earliest_ns_ && asked_bytes >= much_asked_bytes_);
  }

  // A sample was taken, at `now_ns`, which took `cost_ns` in all.
  void note(uint64_t now_ns, uint64_t cost_ns, size_t processes, uint64_t asked_bytes,
            uint64_t resident_bytes) {
    const uint64_t least_ns = cost_ns * kCostFactor * processes;
    every_ns_ = std::max(std::min(every_ns_ * 3 / 2, kMaxEveryNs), least_ns);
    latest_ns_ = now_ns + every_ns_;
    const bool has_grown = resident_bytes > resident_bytes_ + resident_bytes_ / kGrowthShare;
    early_ns_ = has_grown ? kFirstNs : std::min(early_ns_ * 2, kMaxEveryNs);
    resident_bytes_ = resident_bytes;
    earliest_ns_ = now_ns + std::max(early_ns_, least_ns);
    much_asked_bytes_ = asked_bytes + std::max(kMuchBytes, resident_bytes / kMuchShare);
  }

 private:
  uint64_t every_ns_ = kFirstNs;
  uint64_t early_ns_ = kFirstNs;
  uint64_t resident_bytes_ = 0;  // at the last sample
  uint64_t earliest_ns_ = 0;
  uint64_t latest_ns_ = 0;  // 0: nobody has asked yet
  uint64_t much_asked_bytes_ = kMuchBytes;
};

}  // namespace heaptape::recorder
