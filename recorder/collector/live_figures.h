// What `heaptape record --live` shows: docs/howto-record.md, "Watching a recording".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace heaptape::recorder {

// The size band whose live bytes grew most.
struct LiveGrowth {
  uint64_t from = 0;  // the smallest and the greatest size in the band, in bytes
  uint64_t to = 0;
  uint64_t bytes = 0;    // by which it grew; not 0
  uint64_t over_ns = 0;  // in that time: a minute, or since the recording began
};

// Of all processes that are recorded now; totals also of those that have ended.
struct LiveFigures {
  uint64_t time_ns = 0;  // since the recording began
  bool is_last = false;  // the program has ended: the figures are of that moment
  uint64_t processes = 0;
  uint64_t ended_processes = 0;
  uint64_t calls = 0;           // on the tapes, in total
  double calls_per_second = 0;  // since the figures before; in the last ones, of all
  uint64_t live_bytes = 0;      // as the program asked for them
  uint64_t live_blocks = 0;
  std::optional<uint64_t> resident_bytes;  // anonymous memory; none: no process was sampled yet
  std::optional<LiveGrowth> growth;        // none: no band has grown
  uint64_t tape_bytes = 0;                 // of all tapes, as far as they are written
  uint64_t tape_calls = 0;                 // that those bytes hold
  uint64_t stalls = 0;                     // in total, as are the next
  uint64_t stall_ns = 0;
  uint64_t lost = 0;
};

// Takes the figures once a second, in the collector's thread, and must return at once.
using LiveWatcher = std::function<void(const LiveFigures&)>;

}  // namespace heaptape::recorder
