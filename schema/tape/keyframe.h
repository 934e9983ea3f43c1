// The heap at one call of a tape, so that what is asked of a later one need not be read from the
// tape's beginning. docs/decisions/0051-keyframes.md.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schema/tape/event.h"
#include "schema/tape/event_columns.h"
#include "schema/tape/live_blocks.h"
#include "schema/tape/stack.h"

namespace heaptape::schema {

class TapeWriter;

struct Keyframe {
  uint64_t event = 0;  // calls before it
  // A call that hands it out for each live block, in order of birth: with its size now, and the
  // thread that made it.
  std::vector<Event> blocks;
  std::vector<uint64_t> births;     // number of the call that made each, from 1
  std::vector<FrameNumber> stacks;  // of these calls, 0: none; empty: the tape has none
  // The one behind that call, with malloc's part as it was known last.
  std::optional<ProcessSample> sample;
};

// What a keyframe is made of: follows a tape call by call. Memory as LiveBlocks has it. One thread.
class KeyframeTable {
 public:
  // Instead of all calls up to the keyframe.
  void begin_with(const Keyframe& keyframe);
  // In the order of the tape.
  void note(const Event& event, FrameNumber stack) { live_.add(event, stack, ++events_); }
  void note(const ProcessSample& sample);

  uint64_t events() const { return events_; }
  size_t blocks() const { return live_.count(); }
  Keyframe keyframe() const;

 private:
  LiveBlocks live_{Resized::kKeepsItsBirth};
  uint64_t events_ = 0;
  std::optional<ProcessSample> sample_;
};

// How often, and for how much, a tape gets keyframes.
struct KeyframeSpacing {
  uint64_t calls = uint64_t{1} << 21;  // between two; to decode so many takes some 50 ms
  uint64_t most_percent = 3;           // of the tape, all of them
};

// Puts keyframes onto a tape while it is written, each behind a sample of the process, which says
// what memory the heap has there. Leaves out those that would take more than they may, and of a
// heap without blocks. One thread.
class KeyframeWriter {
 public:
  // `frames` are those of the tape so far, whenever something is noted. Both must outlive this.
  KeyframeWriter(TapeWriter& writer, const Stacks& frames, const KeyframeSpacing& spacing)
      : writer_(writer), frames_(frames), spacing_(spacing), next_(spacing.calls) {}

  // What was appended to the tape last.
  void note(const Event& event, FrameNumber stack) { table_.note(event, stack); }
  void note(const ProcessSample& sample) {
    table_.note(sample);
    if (table_.events() >= next_) write();
  }

 private:
  void write();
  std::vector<EventColumns> columns_of(const Keyframe& keyframe) const;

  TapeWriter& writer_;
  const Stacks& frames_;
  const KeyframeSpacing spacing_;
  KeyframeTable table_;
  uint64_t next_;       // not before so many calls
  uint64_t bytes_ = 0;  // of all so far
  // In those so far:
  FrameNumber known_frames_ = 0;
  size_t known_mappings_ = 0;
};

}  // namespace heaptape::schema
