// The end of a tape, kept in memory or on disk: its last chunks, and what is left of those before
// them.
// docs/decisions/0049-last-calls.md.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "schema/tape/chunk.h"
#include "schema/tape/chunk_sink.h"
#include "schema/tape/event_columns.h"
#include "schema/tape/event_decoder.h"
#include "schema/tape/live_blocks.h"
#include "schema/tape/op.h"
#include "schema/tape/stack.h"
#include "schema/tape/window_file.h"

namespace heaptape::schema {

// How much of a tape is kept. Older calls go if they are beyond either bound.
struct KeepLast {
  // Size of the tape. But its last chunk is always kept, and if the blocks from before need more
  // than half of the bytes, the calls still have the other half.
  uint64_t bytes = UINT64_MAX;
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
// tape. Memory: the chunks, which are less than a KiB each where their frames are in a file, and
// some 80 bytes for each live block. A chunk for which the file has no room takes that of the
// oldest: these go until it is in the file, or is the only one and stays in memory. One thread.
class TapeWindow {
 public:
  struct Chunk {
    ChunkHeader header;          // of kEvents
    std::vector<uint8_t> frame;  // or
    WindowFile::Frame filed = {};
    ChunkCounts counts = {};
    uint64_t end_ns = 0;  // base::monotonic_ns() when it was complete

    // Either frame; `room` is for its bytes, if it needs that.
    base::Result<std::span<const uint8_t>> read_frame(std::vector<uint8_t>& room) const;
  };
  // The frames are in `file`; null: in memory.
  explicit TapeWindow(const KeepLast& keep, std::shared_ptr<WindowFile> file = nullptr)
      : keep_(keep), file_(std::move(file)) {}

  // These fail only if a chunk that we encoded cannot be decoded, or be read back from the file.
  base::Status add(Chunk chunk);
  base::Status set_bytes(uint64_t bytes);  // KeepLast::bytes
  base::Status drop_older(uint64_t now_ns);
  base::Status drop_oldest();  // requires that there is one

  const std::deque<Chunk>& chunks() const { return chunks_; }
  uint64_t dropped() const { return dropped_; }  // calls
  // Estimate of what chunks, blocks and frames take on a tape; header, summary and index come on
  // top.
  uint64_t bytes() const { return chunk_bytes_ + beginning_bytes(); }
  // Calls that come before chunks(): they hand out the blocks that are live then.
  uint64_t blocks() const { return live_.count(); }
  // These calls, in order of birth, with all that goes with them, numbered from 0.
  void write_beginning(ChunkSink& sink) const;

 private:
  uint64_t beginning_bytes() const;
  bool is_too_large() const;
  base::Status file_youngest();
  void forget_threads();

  KeepLast keep_;
  const std::shared_ptr<WindowFile> file_;  // outlives the chunks
  std::deque<Chunk> chunks_;
  uint64_t chunk_bytes_ = 0;
  // What the dropped chunks left:
  uint64_t dropped_ = 0;
  LiveBlocks live_;
  Stacks stacks_;
  bool has_stacks_ = false;
  std::vector<SteeringCall> settings_;
  uint64_t mapping_bytes_ = 0;           // of the names in stacks_
  std::vector<uint32_t> ended_threads_;  // at least those that have live blocks
  size_t next_forgetting_ = 1024;        // when there are so many
  std::optional<uint64_t> time_ns_;      // at their end
};

}  // namespace heaptape::schema
