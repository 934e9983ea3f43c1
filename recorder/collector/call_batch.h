// Calls that are read, merged and encoded together, in passes over arrays.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "recorder/ring/session_layout.h"
#include "schema/tape/event.h"
#include "schema/tape/stack.h"

namespace heaptape::recorder {

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
  std::array<schema::Event, kMost> events;
  std::array<schema::FrameNumber, kMost> stacks;
  std::array<uint64_t, kMost> stamps;  // as RingCursor::order()
  // For RingCursor::return_from().
  std::array<uint64_t, kMost> positions;  // of the calls in the ring
  uint64_t order_before = 0;              // order() before the first call

  CallRun run() const {
    return {std::span(events).first(count), stacks.data(), is_stamped ? stamps.data() : nullptr,
            ticks};
  }
};

}  // namespace heaptape::recorder
