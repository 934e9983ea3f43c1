// The next calls of several rings, merged by their stamps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "recorder/collector/call_batch.h"
#include "recorder/collector/ring_cursor.h"

namespace heaptape::recorder {

// For std::push_heap and the like: the ring with the oldest call comes first.
inline bool is_later(const RingCursor* a, const RingCursor* b) {
  return a->order() > b->order();
}

// Usage: take() a run, write a part of it, keep() that part. Up to half a megabyte, for use again
// and again. One thread.
class RingRun {
 public:
  static constexpr size_t kMostRings = 8;

  // Takes calls of one ring, as RingCursor::take(): none where it is_beside_events().
  CallRun take(RingCursor& ring, uint64_t last_order);
  // Pops the rings with the oldest calls from `heap`, which is not empty and whose first ring's
  // next call is an event, and takes their events in the order of their stamps: none above `cut`,
  // none younger than a call of a ring that stays in the heap or than a call that is no event, and
  // none behind the last call of a thread that ended. At least one; of each ring at most `most`.
  // The run is valid until the next take(). Calls without a stamp are a run of their own.
  CallRun take(std::vector<RingCursor*>& heap, uint64_t cut, uint32_t most);
  // The first `written` calls are used; the others go back to their rings.
  void keep(size_t written);

  // The rings of the run.
  std::span<RingCursor* const> rings() const { return std::span(cursors_).first(ring_count_); }
  RingCursor& ring_of(size_t call) const { return *cursors_[is_of_one() ? 0 : sources_[call]]; }

 private:
  static constexpr size_t kMostCalls = kMostRings * CallBatch::kMost;

  // All its calls are the first ring's.
  bool is_of_one() const { return ring_count_ == 1 || !batches_.front().is_stamped; }
  uint64_t take_batches(uint64_t last, uint32_t most);
  void merge(uint64_t last);

  size_t ring_count_ = 0;
  std::array<RingCursor*, kMostRings> cursors_{};
  std::array<CallBatch, kMostRings> batches_;
  // The merged calls.
  size_t count_ = 0;
  LazyArray<schema::Event, kMostCalls> events_;
  LazyArray<schema::FrameNumber, kMostCalls> stacks_;
  LazyArray<uint64_t, kMostCalls> stamps_;
  LazyArray<uint8_t, kMostCalls> sources_;  // which batch each is from
};

}  // namespace heaptape::recorder
