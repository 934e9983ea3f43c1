// The columns of a chunk, which event_encoder.h fills and tape_output.h writes. They are moved from
// one to the other, so the two can run in different threads.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "schema/tape/column_codec.h"
#include "schema/tape/event.h"
#include "schema/tape/size_classes.h"
#include "schema/tape/stack.h"

namespace heaptape::schema {

// How a chunk has the addresses of its blocks: by free lists and ages, or as in version 1, where
// `freed` has all blocks that are given up, by the last one freed or used.
enum class AddressLayout : uint8_t { kFreeLists, kLastFreed, kLastUsed };

// How much time is spent on making a chunk small. kLow: all blocks that are given up have the age
// 1, and no place in a list is looked for, which takes half of the time, and some 3.4 bytes an
// event where kFull takes 2.3 (docs/decisions/0040-free-lists.md).
enum class Effort : uint8_t { kLow, kFull };

struct EventColumns {
  ColumnWriter ops, sizes, ages, high_ages, freed, alignments, threads, times, ends, stacks, frames,
      steering, mapped;
  ColumnWriter births;  // of a keyframe
  // By size classes: those of size_classes, or all in a trial.
  std::array<ColumnWriter, kSizeClassKinds> addresses;
  std::vector<CodeMapping> mappings;
  std::vector<ProcessSample> samples;
  std::vector<Mark> marks;
  uint64_t first_event = 0;  // calls on the tape before these
  uint64_t number = 0;       // chunks on the tape before this one
  uint32_t count = 0;
  FrameNumber first_frame = 0;  // frames on the tape before these
  uint32_t failed = 0;
  uint32_t thread_limit = 0;  // above every thread that occurs
  int unit_log2 = 4;          // addresses are multiples of 1 << unit_log2
  AddressLayout layout = AddressLayout::kFreeLists;
  std::optional<SizeClasses> size_classes;  // nothing: its writer chooses
  uint64_t live_blocks = 0;                 // of a keyframe, in all of its chunks
  Effort effort = Effort::kFull;

  bool empty() const {
    return count == 0 && samples.empty() && marks.empty() && times.empty() && ends.empty() &&
           stacks.empty() && frames.empty() && mappings.empty() && steering.empty() &&
           mapped.empty();
  }
  // A tape without stacks has no columns for them.
  bool has_stacks() const {
    return first_frame != 0 || !stacks.empty() || !frames.empty() || !mappings.empty();
  }
  std::span<const uint8_t> addresses_by(SizeClasses classes) const {
    return addresses[static_cast<size_t>(classes)].bytes();
  }
  static constexpr size_t kColumns = 14 + kSizeClassKinds;
  std::array<ColumnWriter*, kColumns> columns() {
    return {&ops,          &sizes,        &ages,       &high_ages, &freed, &addresses[0],
            &addresses[1], &addresses[2], &alignments, &threads,   &times, &ends,
            &stacks,       &frames,       &steering,   &mapped,    &births};
  }
  // The size of all columns, without samples, marks and mappings.
  size_t bytes();
  // Forgets the events and keeps the memory for others.
  void clear();
};

// The additions to a chunk since its previous part: a chunk that is being filled is saved in parts,
// so that little is lost if its writer is killed. docs/tape-format.md, "Unfinished tapes".
struct EventPart {
  EventColumns columns;        // counts and first_event are those of the part
  uint32_t events_before = 0;  // in the chunk
  uint32_t open_thread = 0;    // the run of events that `threads` does not have yet,
  uint32_t open_run = 0;       // and its length, from its first event on
};

// The Cap'n Proto messages, as 8-byte words ready to compress. Fail with kIo where Cap'n Proto
// cannot build them, for want of memory, say. In a trial, with the addresses by `classes`.
base::Result<std::vector<uint64_t>> encode(const EventColumns& chunk,
                                           SizeClasses classes = SizeClasses::kChunks);
base::Result<std::vector<uint64_t>> encode(const EventPart& part);

// Fails with kDamaged for a number that is none of them.
base::Result<SizeClasses> size_classes_of(uint8_t stored);

// Puts the parts of a chunk together again. Treats them as hostile.
class PartJoiner {
 public:
  // `first_event` is the number of calls before the chunk.
  explicit PartJoiner(uint64_t first_event) { chunk_.first_event = first_event; }

  // Takes the words of the next part. Fails with kDamaged, and changes nothing, if they are not the
  // next part.
  base::Status add(std::span<const uint64_t> words);
  uint32_t events() const { return chunk_.count; }
  // The chunk up to the last part, as the words of an EventChunk message.
  base::Result<std::vector<uint64_t>> chunk();

 private:
  base::Status load(std::span<const uint64_t> words, EventPart& part) const;

  EventColumns chunk_;
  uint32_t open_thread_ = 0;
  uint32_t open_run_ = 0;
};

}  // namespace heaptape::schema
