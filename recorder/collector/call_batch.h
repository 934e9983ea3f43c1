// Calls that are read, merged and encoded together, in passes over arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <span>
#include <type_traits>

#include "recorder/ring/session_layout.h"
#include "schema/tape/event.h"
#include "schema/tape/stack.h"

namespace heaptape::recorder {

// An array whose values are written before they are read. Its pages take memory when they are first
// written: most batches are small.
template <typename T, size_t kSize>
class LazyArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  LazyArray() : values_(static_cast<T*>(std::malloc(kSize * sizeof(T)))) {
    if (values_ == nullptr) throw std::bad_alloc();
  }
  ~LazyArray() { std::free(values_); }
  LazyArray(const LazyArray&) = delete;
  LazyArray& operator=(const LazyArray&) = delete;

  T& operator[](size_t index) { return values_[index]; }
  const T& operator[](size_t index) const { return values_[index]; }
  T* data() { return values_; }
  const T* data() const { return values_; }
  std::span<const T> first(size_t count) const { return {values_, count}; }

 private:
  T* const values_;
};

// Calls in the order of their tape. Owns nothing.
struct CallRun {
  std::span<const schema::Event> calls;
  const schema::FrameNumber* stacks;
  const uint64_t* stamps;  // null: they have none
  uint64_t ticks;          // of the time mark before the first call, if it has no stamp; 0: none
};

// Calls of one ring, at most those of a segment. Either all have a stamp or none has.
struct CallBatch {
  static constexpr uint32_t kMost = kSegmentWords;

  uint32_t count = 0;
  bool is_stamped = false;
  // The ring may hold more calls with an order() that the caller accepts: the batch ended at the
  // end of a segment, at a frame or a time mark, or was full.
  bool is_cut_short = false;
  uint64_t ticks = 0;  // as CallRun has it
  LazyArray<schema::Event, kMost> events;
  LazyArray<schema::FrameNumber, kMost> stacks;
  LazyArray<uint64_t, kMost> stamps;  // as RingCursor::order()
  // For RingCursor::return_from().
  LazyArray<uint64_t, kMost> positions;  // of the calls in the ring

  CallRun run() const {
    return {events.first(count), stacks.data(), is_stamped ? stamps.data() : nullptr, ticks};
  }
};

}  // namespace heaptape::recorder
