// Turns events into the columns of one chunk, as they come. See docs/tape-format.md, "Columns".
#pragma once

#include <array>
#include <cstdint>

#include "schema/tape/column_codec.h"
#include "schema/tape/event.h"
#include "schema/tape/event_columns.h"
#include "schema/tape/tape_format.h"

namespace heaptape::schema {

// Usage: append until full() or !accepts(event); then take().
// One thread. Addresses must be below kAddressLimit.
class EventEncoder {
 public:
  bool full() const { return columns_.count == kEventsPerChunk; }
  bool empty() const { return columns_.empty(); }
  uint32_t count() const { return columns_.count; }
  uint64_t first_event() const { return columns_.first_event; }
  uint64_t number() const { return columns_.number; }
  // Of what samples, marks, frames and mappings take on the tape, before compression.
  uint64_t sample_bytes() const { return sample_bytes_; }

  // False when an address is not a multiple of the unit: end the chunk, lower the unit, go on.
  bool accepts(const Event& event) const {
    return ((event.address | event.freed_address) & ((uint64_t{1} << columns_.unit_log2) - 1)) == 0;
  }
  // Only while empty. `unit_log2` is how many low address bits are always zero (4 for glibc).
  void set_unit_log2(int unit_log2) { columns_.unit_log2 = unit_log2; }

  // Only while empty.
  void set_freed_mode(FreedMode mode) { columns_.freed_mode = mode; }

  // Requires !full() and accepts(event). `stack` is that of the call, if the tape has stacks.
  void append(const Event& event, FrameNumber stack = 0) {
    const OpInfo& info = op_info(event.op);
    columns_.ops.put_byte(static_cast<uint8_t>(event.op));
    if (event.thread != run_thread_) [[unlikely]]
      start_run(event.thread);
    ++run_length_;
    if (info.kind != OpKind::kAllocate) append_freed(event.thread, event.freed_address);
    if (info.kind != OpKind::kRelease) {
      append_block(event);
      if (has_stacks_) columns_.stacks.put(stack);
    }
    if (info.aligned) [[unlikely]]
      columns_.alignments.put(event.alignment);
    ++columns_.count;
  }

  // From now on each call that returns a block has a stack, or none: 0. Before the first call.
  void set_has_stacks() { has_stacks_ = true; }
  // The number of the frame, which is new. frame.caller was returned before, or is 0.
  FrameNumber add_frame(const Frame& frame);
  FrameNumber frames() const { return frames_; }
  // Sets mapping.frames to the number of frames so far.
  void add_mapping(CodeMapping mapping);

  // Time since the recording began, at the calls appended so far. Twice at the same calls: a pause.
  // Left out where it would go back, or says nothing new.
  void add_time(uint64_t time_ns);
  // The thread made its last call.
  void add_end(uint32_t thread);
  // sample.event must be the number of calls written so far on the whole tape.
  void add_sample(ProcessSample sample);
  // So must mark.event.
  void add_mark(Mark mark);

  // The chunk so far; a new one begins. The unit and the time of the last sample go on.
  EventColumns take();
  // Gives memory for the columns. Only while empty; `spare` is empty, too.
  void recycle(EventColumns spare);
  // A copy of what was added since the last part of this chunk, which may be nothing.
  EventPart take_part();

 private:
  // How much of the chunk the parts so far have.
  struct PartEnd {
    std::array<size_t, EventColumns::kColumns> column_bytes{};
    size_t samples = 0;
    size_t marks = 0;
    size_t mappings = 0;
    uint32_t count = 0;
  };

  void append_freed(uint32_t thread, uint64_t address) {
    if (columns_.freed_mode != FreedMode::kLastUsed) {
      columns_.freed_by_freed.put(
          AddressCode::encode(address, last_freed_.predict(thread), columns_.unit_log2));
    }
    if (columns_.freed_mode != FreedMode::kLastFreed) {
      columns_.freed_by_used.put(
          AddressCode::encode(address, last_used_.predict(thread), columns_.unit_log2));
    }
    last_freed_.update(thread, address);
    last_used_.update(thread, address);
  }
  void append_block(const Event& event) {
    columns_.sizes.put(event.size);
    const uint64_t predicted = new_address_.predict(event.thread, event.size);
    columns_.addresses.put(AddressCode::encode(event.address, predicted, columns_.unit_log2));
    if (event.address == 0 && is_failed(event)) [[unlikely]]
      ++columns_.failed;
    new_address_.update(event.thread, event.size, event.address);
    last_used_.update(event.thread, event.address);
  }
  void start_run(uint32_t thread);
  void end_run();

  EventColumns columns_;
  NewAddressPredictor new_address_;
  LastAddress last_freed_, last_used_;
  PartEnd part_end_;
  uint64_t sample_bytes_ = 0;
  bool has_stacks_ = false;
  FrameNumber frames_ = 0;    // on the tape so far
  uint64_t last_return_ = 0;  // address of the last frame of this chunk
  uint32_t run_thread_ = 0;
  uint32_t run_length_ = 0;
  uint32_t time_count_ = 0;       // columns_.count at the last time sample
  uint32_t end_count_ = 0;        // columns_.count at the last thread end
  uint64_t last_time_event_ = 0;  // calls on the tape at the last time sample
  uint64_t last_time_ns_ = 0;     // of the tape so far
  uint64_t chunk_time_ns_ = 0;    // of this chunk; a chunk's first sample counts from 0
};

}  // namespace heaptape::schema
