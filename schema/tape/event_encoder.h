// Turns events into the columns of one chunk. See docs/tape-format.md, "Columns".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "schema/tape/block_table.h"
#include "schema/tape/column_codec.h"
#include "schema/tape/event.h"
#include "schema/tape/event_columns.h"
#include "schema/tape/free_lists.h"
#include "schema/tape/size_classes.h"
#include "schema/tape/tape_format.h"

namespace heaptape::schema {

// Usage: append until full() or !accepts(event); then take().
// Events are encoded some dozens at a time, a column after the other, in loops that avoid jumps
// that depend on an event: docs/decisions/0039-bulk.md. One thread. Addresses must be below
// kAddressLimit. An event that only hands out a block has no freed_address, and one that only gives
// one up no address.
class EventEncoder {
 public:
  bool full() const { return columns_.count == kEventsPerChunk; }
  bool empty() const { return columns_.empty(); }
  uint32_t count() const { return columns_.count; }
  uint32_t room() const { return kEventsPerChunk - columns_.count; }
  uint64_t first_event() const { return columns_.first_event; }
  uint64_t number() const { return columns_.number; }
  // On the tape, before compression, of samples, marks, steering and mapping calls, frames and
  // mappings.
  uint64_t sample_bytes() const { return sample_bytes_; }

  // False when an address is not a multiple of the unit: end the chunk, lower the unit, go on.
  bool accepts(const Event& event) const {
    return ((event.address | event.freed_address) & ((uint64_t{1} << columns_.unit_log2) - 1)) == 0;
  }
  // How many of the first events it accepts.
  size_t count_accepted(std::span<const Event> events) const;
  // Only while empty. `unit_log2` is how many low address bits are always zero (4 for glibc).
  void set_unit_log2(int unit_log2) { columns_.unit_log2 = unit_log2; }

  // Only while empty. Nothing: the chunk is encoded with each kind, for its writer to choose.
  void set_size_classes(std::optional<SizeClasses> classes) { columns_.size_classes = classes; }
  // Only while empty. Of kLow, the size classes are kChunks.
  void set_effort(Effort effort) {
    columns_.effort = effort;
    if (effort == Effort::kLow) columns_.size_classes = SizeClasses::kChunks;
  }

  // Requires !full() and accepts(event). `stack` is that of the call, if the tape has stacks.
  void append(const Event& event, FrameNumber stack = 0) {
    if (pending_.size() == kMostPending) encode_pending();
    pending_.push_back(event);
    if (has_stacks_) pending_stacks_.push_back(stack);
    ++columns_.count;
  }
  // The same for at most room() events. `stacks` has that of each, if the tape has stacks.
  void append(std::span<const Event> events, const FrameNumber* stacks);

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
  // After the calls so far, whatever call.event says.
  void add_steering(const SteeringCall& call);
  void add_mapping_call(const MappingCall& call);
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

  static constexpr size_t kMostPending = 64;
  // Events in a pass: few enough for the first-level cache.
  static constexpr size_t kPassEvents = 256;
  // Room for a varint of each. A column then takes as much memory as it uses.
  using PassBytes = std::array<uint8_t, kPassEvents * kMaxVarintBytes>;
  // Of some of the events of a pass. Not uint8_t, which may alias anything: the compiler would
  // reload the encoder's members after each store.
  using Indices = std::span<const uint16_t>;
  using Ages = std::array<uint32_t, kPassEvents>;
  // What the table says of the events of a pass.
  struct Known {
    // Those that give up a block of this chunk, and the size classes of these blocks.
    std::array<uint16_t, kPassEvents> freeing;
    std::array<uint32_t, kPassEvents> freed;
    size_t freed_count = 0;
    // By event: its block was handed out before, so it may be in a free list.
    std::array<bool, kPassEvents> may_be_listed{};
  };
  static_assert(kEventsPerChunk <= BlockTable::kMostBlocks);

  void encode_pending();
  void encode(std::span<const Event> events, const FrameNumber* stacks);
  void encode_pass(std::span<const Event> events, const FrameNumber* stacks);
  void encode_threads(std::span<const Event> events);
  void encode_freed(std::span<const Event> events, Indices freeing, Known& known);
  void find_ages(std::span<const Event> events, Known& known, Ages& ages);
  void encode_sizes(std::span<const Event> events, Indices allocating);
  void encode_addresses(std::span<const Event> events, Indices allocating, const Known& known,
                        SizeClasses classes);
  void end_run();

  EventColumns columns_;
  std::vector<Event> pending_;  // counted in columns_, and in no column yet
  std::vector<FrameNumber> pending_stacks_;
  BlockTable blocks_;  // of this chunk
  std::array<FreeLists, kSizeClassKinds> free_lists_;
  LastAddress last_freed_;
  PartEnd part_end_;
  uint64_t sample_bytes_ = 0;
  bool has_stacks_ = false;
  FrameNumber frames_ = 0;    // on the tape so far
  uint64_t last_return_ = 0;  // address of the last frame of this chunk
  uint32_t run_thread_ = 0;
  uint32_t run_length_ = 0;
  uint32_t time_count_ = 0;       // columns_.count at the last time sample
  uint32_t end_count_ = 0;        // columns_.count at the last thread end
  uint32_t steering_count_ = 0;   // columns_.count at the last steering call
  uint32_t mapped_count_ = 0;     // the same of mapping calls
  uint64_t last_mapped_ = 0;      // where the range of the last one of the chunk begins
  uint64_t last_time_event_ = 0;  // calls on the tape at the last time sample
  uint64_t last_time_ns_ = 0;     // of the tape so far
  uint64_t chunk_time_ns_ = 0;    // of this chunk; a chunk's first sample counts from 0
};

}  // namespace heaptape::schema
