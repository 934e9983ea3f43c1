// The program's requests: the same for every allocator. docs/metrics.md, "Program".
#pragma once

#include <algorithm>
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
  uint64_t cumulative_bytes_upper = 0;  // every size requested and given
  uint64_t cumulative_bytes_lower = 0;  // the same less the old sizes of resized blocks
  uint64_t temporaries = 0;             // blocks freed by the very next call
};

// Calls are noted one after another; `event` is the number of the call, from 1. Peaks, sums and
// temporaries are those since begin_range(), if that was called.
class LiveMetrics {
 public:
  // A large block has pages of its own, and a program may leave some of them untouched. The default
  // of glibc's M_MMAP_THRESHOLD (mallopt(3)).
  static constexpr uint64_t kLargeBytes = 128 << 10;

  void on_allocate(uint64_t event, uint32_t slot, uint64_t size) {
    ++values_.live_count;
    values_.live_bytes += size;
    large_bytes_ += if_large(size);
    values_.cumulative_bytes_upper += size;
    values_.cumulative_bytes_lower += size;
    last_event_ = event;
    last_slot_ = slot;
    live_count_peak_.update(values_.live_count, event);
    update_live_bytes_peak(event);
  }
  void on_resize(uint64_t event, uint64_t old_size, uint64_t size) {
    values_.live_bytes += size - old_size;
    large_bytes_ += if_large(size) - if_large(old_size);
    values_.cumulative_bytes_upper += size;
    values_.cumulative_bytes_lower += size - old_size;
    update_live_bytes_peak(event);
  }
  void on_release(uint64_t event, uint32_t slot, uint64_t size) {
    --values_.live_count;
    values_.live_bytes -= size;
    large_bytes_ -= if_large(size);
    if (last_slot_ == slot && last_event_ + 1 == event) ++values_.temporaries;
  }

  // After `before` calls: what is live is the first peak.
  void begin_range(uint64_t before) {
    values_before_ = values_;
    live_count_peak_ = {values_.live_count, before};
    live_bytes_peak_ = {values_.live_bytes, before};
    large_bytes_at_peak_ = large_bytes_;
  }

  LiveValues values() const {
    LiveValues values = values_;
    values.cumulative_bytes_upper -= values_before_.cumulative_bytes_upper;
    // Blocks from before may have shrunk by more than was requested since.
    values.cumulative_bytes_lower -=
        std::min(values_before_.cumulative_bytes_lower, values_.cumulative_bytes_lower);
    values.temporaries -= values_before_.temporaries;
    return values;
  }
  const Peak& live_count_peak() const { return live_count_peak_; }
  const Peak& live_bytes_peak() const { return live_bytes_peak_; }
  // The part of live bytes in large blocks: now, and at the peak of live bytes.
  uint64_t large_bytes() const { return large_bytes_; }
  uint64_t large_bytes_at_peak() const { return large_bytes_at_peak_; }

 private:
  static uint64_t if_large(uint64_t size) { return size >= kLargeBytes ? size : 0; }
  void update_live_bytes_peak(uint64_t event) {
    live_bytes_peak_.update(values_.live_bytes, event);
    if (live_bytes_peak_.at == event) large_bytes_at_peak_ = large_bytes_;
  }

  LiveValues values_;
  LiveValues values_before_;  // when the range began
  uint64_t large_bytes_ = 0;
  uint64_t large_bytes_at_peak_ = 0;
  Peak live_count_peak_;
  Peak live_bytes_peak_;
  uint64_t last_event_ = 0;  // of the last allocation
  uint32_t last_slot_ = 0;
};

}  // namespace heaptape::replayer
