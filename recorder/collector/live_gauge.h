// Reads, once a second, what `heaptape record --live` shows.
#pragma once

#include <cstdint>
#include <deque>

#include "base/clock.h"
#include "recorder/collector/live_figures.h"
#include "recorder/collector/live_sizes.h"
#include "recorder/collector/process_table.h"

namespace heaptape::recorder {

// Its cost grows with processes and threads, and not with calls. One thread: the collector's.
class LiveGauge {
 public:
  static constexpr uint64_t kEveryNs = 1000 * base::kMillisecondNs;
  static constexpr uint64_t kGrowthNs = 60 * kEveryNs;

  // `start_ns`: monotonic time when the recording began. `table` counts sizes.
  explicit LiveGauge(uint64_t start_ns)
      : start_ns_(start_ns), read_ns_(start_ns), looks_{{start_ns, {}}} {}

  bool is_due(uint64_t now_ns) const { return now_ns - read_ns_ >= kEveryNs; }
  LiveFigures read(const ProcessTable& table, uint64_t now_ns);
  // `figures`, read when the program had ended, with the totals of the tapes that are finished now.
  LiveFigures complete(LiveFigures figures, const ProcessTable& table) const;

 private:
  struct Look {
    uint64_t time_ns;
    LiveBands bands;
  };

  std::optional<LiveGrowth> largest_growth(const LiveBands& now, uint64_t now_ns) const;

  uint64_t start_ns_;
  uint64_t read_ns_;
  uint64_t calls_ = 0;      // then
  std::deque<Look> looks_;  // those of the last minute, the oldest first, and one before
};

}  // namespace heaptape::recorder
