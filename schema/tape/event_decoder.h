// Turns the columns of one chunk back into events; the other half of event_encoder.h.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "schema/tape/column_codec.h"
#include "schema/tape/event.h"
#include "schema/tape/event_columns.h"
#include "schema/tape/free_lists.h"
#include "schema/tape/size_classes.h"
#include "schema/tape/stack.h"

namespace heaptape::schema {

class WordsReader;

// Holds one decompressed chunk and reads it from front to back. Treats it as hostile: every column
// is bounded by its own bytes, and a column that ends early or late is damage. One thread.
class EventDecoder {
 public:
  EventDecoder();
  ~EventDecoder();
  EventDecoder(EventDecoder&&) noexcept;
  EventDecoder& operator=(EventDecoder&&) noexcept;

  // Takes the words of an EventChunk message. Fails with kDamaged (the caller adds the place).
  base::Status load(std::vector<uint64_t> words);

  uint64_t first_event() const { return first_event_; }
  uint32_t count() const { return count_; }
  uint32_t remaining() const { return count_ - position_; }
  // Positions are calls on the whole tape, like the samples' own.
  const std::vector<TimeSample>& times() const { return times_; }
  const std::vector<ThreadEnd>& ends() const { return ends_; }
  const std::vector<SteeringCall>& steering() const { return steering_; }
  const std::vector<MappingCall>& mapped() const { return mapped_; }
  const std::vector<ProcessSample>& samples() const { return samples_; }
  const std::vector<Mark>& marks() const { return marks_; }
  bool has_stacks() const { return has_stacks_; }
  // Frames that are new in this chunk, and how many were on the tape before. Each has a caller of a
  // smaller number.
  FrameNumber first_frame() const { return first_frame_; }
  const std::vector<Frame>& frames() const { return frames_; }
  const std::vector<CodeMapping>& mappings() const { return mappings_; }
  // Only keyframes have these: Keyframe::births, ascending, and how many blocks the keyframe has in
  // all of its chunks.
  const std::vector<uint64_t>& births() const { return births_; }
  uint64_t live_blocks() const { return live_blocks_; }

  // Overwrites the front of `out`; returns how many events that were, 0 at the end of the chunk.
  // Fails with kDamaged.
  base::Result<size_t> read(std::span<Event> out);
  // The stacks of the events that the last read() gave, in the same order: 0 for those that have
  // none. Once for each read(), if has_stacks(). Fails with kDamaged.
  base::Status read_stacks(std::span<const Event> events, std::span<FrameNumber> out);

 private:
  // Events that are decoded at a time, one column after the other: each loop has its state in
  // registers, and the values stay in the first-level cache.
  static constexpr size_t kBlockEvents = 512;
  // The values of a block, by column, in the order of the events that have one.
  struct BlockValues {
    const uint8_t* ops;
    std::array<uint64_t, kBlockEvents> sizes, addresses, freed, ages, alignments;
  };
  struct BlockPlace;

  base::Status load_columns();
  base::Status load_addresses();
  base::Status load_times(ColumnReader column);
  base::Status load_ends(ColumnReader column);
  base::Status load_steering(ColumnReader column);
  base::Status load_mapped(ColumnReader column);
  base::Status load_frames(ColumnReader column);
  base::Status load_births(ColumnReader column);
  base::Status read_block(std::span<Event> out);
  base::Status read_values(size_t events, BlockValues& values);
  base::Status read_freed(std::span<uint64_t> freed, std::span<uint64_t> ages);
  template <AddressLayout kLayout>
  void put_together(std::span<Event> run, const BlockValues& values, BlockPlace& place);
  bool next_thread();
  base::Status finish() const;

  std::vector<uint64_t> words_;
  std::unique_ptr<WordsReader> message_;
  ColumnReader ops_, sizes_, addresses_, freed_, ages_, high_ages_, alignments_, threads_;
  AddressLayout layout_ = AddressLayout::kFreeLists;
  SizeClasses size_classes_ = SizeClasses::kChunks;
  FreeLists free_lists_;
  // The blocks that the calls so far handed out: their addresses and size classes.
  std::vector<uint64_t> blocks_;
  std::vector<uint8_t> block_classes_;
  LastAddress last_address_;
  std::vector<TimeSample> times_;
  std::vector<ThreadEnd> ends_;
  std::vector<SteeringCall> steering_;
  std::vector<MappingCall> mapped_;
  std::vector<ProcessSample> samples_;
  std::vector<Mark> marks_;
  ColumnReader stacks_;
  std::vector<Frame> frames_;
  std::vector<CodeMapping> mappings_;
  FrameNumber first_frame_ = 0;
  bool has_stacks_ = false;
  std::vector<uint64_t> births_;
  uint64_t live_blocks_ = 0;
  uint64_t first_event_ = 0;
  uint32_t count_ = 0;
  uint32_t position_ = 0;
  uint32_t thread_ = 0;
  uint64_t run_left_ = 0;
  int unit_log2_ = 0;
};

}  // namespace heaptape::schema
