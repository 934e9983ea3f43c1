// What the program asked for: the same for every allocator. docs/metrics.md, "Program".
#pragma once

#include <cstdint>

namespace heaptape::replayer {

// The greatest value so far, and the first call (from 1) after which it was reached.
struct Peak {
  uint64_t value = 0;
  uint64_t at = 0;

  void update(uint64_t new_value, uint64_t event) {
    if (new_value > value) {
      value = new_value;
      at = event;
    }
  }
};

struct LiveValues {
  uint64_t live_count = 0;
  uint64_t live_bytes = 0;              // requested, of live blocks
  uint64_t cumulative_bytes_upper = 0;  // every size that was asked for and given
  uint64_t cumulative_bytes_lower = 0;  // the same less the old sizes of resized blocks
  uint64_t temporaries = 0;             // blocks freed by the very next call
};

// Calls are told one after another; `event` is the number of the call, from 1.
class LiveMetrics {
 public:
  void on_allocate(uint64_t event, uint32_t slot, uint64_t size) {
    ++values_.live_count;
    values_.live_bytes += size;
    values_.cumulative_bytes_upper += size;
    values_.cumulative_bytes_lower += size;
    last_event_ = event;
    last_slot_ = slot;
    live_count_peak_.update(values_.live_count, event);
    live_bytes_peak_.update(values_.live_bytes, event);
  }
  void on_resize(uint64_t event, uint64_t old_size, uint64_t size) {
    values_.live_bytes += size - old_size;
    values_.cumulative_bytes_upper += size;
    values_.cumulative_bytes_lower += size - old_size;
    live_bytes_peak_.update(values_.live_bytes, event);
  }
  void on_release(uint64_t event, uint32_t slot, uint64_t size) {
    --values_.live_count;
    values_.live_bytes -= size;
    if (last_slot_ == slot && last_event_ + 1 == event) ++values_.temporaries;
  }

  const LiveValues& values() const { return values_; }
  const Peak& live_count_peak() const { return live_count_peak_; }
  const Peak& live_bytes_peak() const { return live_bytes_peak_; }

 private:
  LiveValues values_;
  Peak live_count_peak_;
  Peak live_bytes_peak_;
  uint64_t last_event_ = 0;  // of the last allocation
  uint32_t last_slot_ = 0;
};

}  // namespace heaptape::replayer
