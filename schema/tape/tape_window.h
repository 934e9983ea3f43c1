// The end of a tape, kept in memory: its last chunks, and what is left of those before them.
// docs/decisions/0049-last-calls.md.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/result.h"
#include "schema/tape/chunk.h"
#include "schema/tape/event_columns.h"
#include "schema/tape/event_decoder.h"
#include "schema/tape/live_blocks.h"
#include "schema/tape/op.h"
#include "schema/tape/stack.h"

namespace heaptape::schema {

// How much of a tape is kept. Older calls go if they are beyond either bound.
struct KeepLast {
  uint64_t bytes = UINT64_MAX;    // of the tape; at least its last chunk is kept
  uint64_t time_ns = UINT64_MAX;  // before now

  bool operator==(const KeepLast&) const = default;
};

// What the summary of a tape counts.
struct ChunkCounts {
  std::array<uint64_t, kOpLimit> ops{};
  uint64_t events = 0;
  uint64_t threads = 0;
  uint64_t failed = 0;
  std::optional<ProcessSample> largest_sample;

  void add(const EventColumns& chunk);
  void add(const ChunkCounts& other);

 private:
  void add(const ProcessSample& sample);
};

// Drops the oldest chunks as new ones come. Calls that were dropped leave the blocks that are still
// live, the settings that last, the frames, and which threads have ended: with these, the rest is a
// tape. Memory: the chunks, and some 60 bytes for each live block. One thread.
class TapeWindow {
 public:
  struct Chunk {
    ChunkHeader header;  // of kEvents
    std::vector<uint8_t> frame;
    ChunkCounts counts;
    uint64_t end_ns = 0;  // base::monotonic_ns() when it was complete
  };
  // What comes before chunks(), as if these blocks had been allocated in order of birth.
  struct Beginning {
    std::vector<EventColumns> chunks;
    uint64_t blocks = 0;
  };

  explicit TapeWindow(const KeepLast& keep) : keep_(keep) {}

  // Fails with kDamaged only if what was dropped could not be read, which does not happen.
  base::Status add(Chunk chunk);
  base::Status set_bytes(uint64_t bytes);  // KeepLast::bytes
  base::Status drop_older(uint64_t now_ns);
  base::Status drop_oldest();  // requires that there is one

  const std::deque<Chunk>& chunks() const { return chunks_; }
  uint64_t dropped() const { return dropped_; }  // calls
  // On a tape, about: less than that where blocks and frames compress as usual. Without header,
  // summary and the like.
  uint64_t bytes() const;
  Beginning beginning() const;

 private:
  bool is_too_large() const { return chunks_.size() > 1 && bytes() > keep_.bytes; }

  KeepLast keep_;
  std::deque<Chunk> chunks_;
  uint64_t chunk_bytes_ = 0;
  // Of the chunks that were dropped:
  uint64_t dropped_ = 0;
  LiveBlocks live_;
  Stacks stacks_;
  bool has_stacks_ = false;
  std::vector<SteeringCall> settings_;
  uint64_t mapping_bytes_ = 0;  // of the names in stacks_
  std::vector<uint32_t> ended_threads_;
  std::optional<uint64_t> time_ns_;  // at their end
};

}  // namespace heaptape::schema
