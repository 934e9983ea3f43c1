// The first half of writing a tape: cuts the events into chunks. docs/tape-format.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "schema/tape/chunk_sink.h"
#include "schema/tape/event_encoder.h"

namespace heaptape::schema {

// Fills columns and hands each full set to a sink; does nothing else, so that it can serve a thread
// that must not wait. Memory is that of the chunk so far: an encoder without events has next to
// none. One thread.
class TapeEncoder {
 public:
  // `sink` must outlive the encoder's use, and is asked for its first size classes at once.
  explicit TapeEncoder(ChunkSink& sink) : sink_(sink) {
    encoder_.set_size_classes(sink.size_classes(0));
  }

  // Requires event addresses below kAddressLimit.
  void append(const Event& event, FrameNumber stack = 0) {
    if (encoder_.full() || !encoder_.accepts(event)) [[unlikely]]
      make_room(event);
    encoder_.append(event, stack);
  }
  // The same for many. `stacks` has that of each, if the tape has stacks.
  void append(std::span<const Event> events, const FrameNumber* stacks);
  // As EventEncoder has them.
  void set_has_stacks() { encoder_.set_has_stacks(); }
  // From the next chunk on: kLow is a wish, which is not followed where the tape would become much
  // larger (ChunkSink::effort_pays()), nor in every eighth chunk.
  void set_effort(Effort effort) { effort_ = effort; }
  FrameNumber add_frame(const Frame& frame);
  FrameNumber frames() const { return encoder_.frames(); }
  void add_mapping(CodeMapping mapping);
  // Nanoseconds since the recording of this process began, at the events appended so far.
  void add_time(uint64_t time_ns) { encoder_.add_time(time_ns); }
  // As EventEncoder has it, of a thread that made a call.
  void add_end(uint32_t thread) { encoder_.add_end(thread); }
  // After the events so far, whatever call.event says.
  void add_steering(const SteeringCall& call);
  void add_mapping_call(const MappingCall& call);
  // Sets sample.event to the number of events so far.
  void add_sample(ProcessSample sample);
  // After the events so far. `time_ns` as add_time() has it.
  void add_mark(std::string name, uint64_t time_ns);

  // Hands over what came since the last chunk or part, in case the sink's process is killed. Costs
  // the finished tape nothing.
  void save();
  // Ends the chunk, though it is not full.
  void flush();
  // What no sink has yet: the last chunk, which may be empty. Nothing may be appended after it.
  EventColumns take_rest() { return encoder_.take(); }

  // Calls on the tape so far.
  uint64_t events() const { return encoder_.first_event() + encoder_.count(); }

 private:
  void make_room(const Event& next);

  ChunkSink& sink_;
  EventEncoder encoder_;
  Effort effort_ = Effort::kFull;
};

}  // namespace heaptape::schema
