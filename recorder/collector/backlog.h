// What was copied from the rings of all processes, and is not on a tape yet: programs wait for the
// copy, and not for the tape. docs/decisions/0041-backlog.md.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "recorder/collector/processors.h"
#include "recorder/ring/session_layout.h"

namespace heaptape::recorder {

class RingTap;

// Memory for copied words, in segments as rings have them, and the taps through which words come.
// The functions that name it require mutex(); the others are for any thread.
class Backlog {
 public:
  static constexpr uint64_t kDefaultBytes = uint64_t{256} << 20;
  static constexpr uint64_t kSegmentBytes = kSegmentWords * sizeof(uint64_t);
  using Segment = std::unique_ptr<uint64_t[]>;  // NOLINT: of kSegmentWords

  explicit Backlog(uint64_t most_bytes = kDefaultBytes) : most_bytes_(most_bytes) {}

  std::mutex& mutex() { return mutex_; }

  // The memory of all segments in use.
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  bool is_half_full() const { return bytes_waiting() > most_bytes_ / 2; }
  // So much waits that the time to encode it matters more than the size of tapes.
  bool is_long() const { return bytes_waiting() > most_bytes_ / 16; }

  // Requires mutex(). Whether so many more words may come: half of what is left is for others.
  bool has_room_for(uint64_t words) const {
    return words * sizeof(uint64_t) <= (most_bytes_ - std::min(most_bytes_, bytes_waiting())) / 2;
  }
  // Requires mutex(). Ignores the bound.
  Segment take_segment();
  void give_back(std::vector<Segment>& segments);
  void drop_spares();

  // `tap` reads its ring from now on, or no longer.
  void add(RingTap& tap);
  void remove(RingTap& tap);

  struct Pulled {
    bool has_room = true;         // for each of them
    bool was_waited_for = false;  // the producer of one of them waited
  };
  // Copies what is in rings that are at least half full, as far as there is room.
  Pulled pull_half_full();
  bool has_half_full_ring();
  // Notes the processors of threads that make many calls.
  void note_busy(OtherProcessors& others, uint64_t now_ns);

 private:
  // Without the segments that are not full, of which each tap may have one for ever.
  uint64_t bytes_waiting() const {
    const uint64_t open = tap_count_.load(std::memory_order_relaxed) * kSegmentBytes;
    return bytes() - std::min(bytes(), open);
  }

  // Kept for use again, beyond those in use.
  static constexpr size_t kMostSpares = (8 << 20) / kSegmentBytes;

  const uint64_t most_bytes_;
  std::mutex mutex_;  // of all below, and of the taps
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> tap_count_{0};
  std::vector<Segment> spares_;
  std::vector<RingTap*> taps_;
};

}  // namespace heaptape::recorder
