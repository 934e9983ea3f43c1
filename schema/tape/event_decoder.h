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
  const std::vector<ProcessSample>& samples() const { return samples_; }
  const std::vector<Mark>& marks() const { return marks_; }
  bool has_stacks() const { return has_stacks_; }
  // Frames that are new in this chunk, and how many were on the tape before. Each has a caller of a
  // smaller number.
  FrameNumber first_frame() const { return first_frame_; }
  const std::vector<Frame>& frames() const { return frames_; }
  const std::vector<CodeMapping>& mappings() const { return mappings_; }

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
    std::array<uint64_t, kBlockEvents> sizes, addresses, freed, alignments;
  };
  struct BlockPlace;

  base::Status load_columns();
  base::Status load_times(ColumnReader column);
  base::Status load_ends(ColumnReader column);
  base::Status load_frames(ColumnReader column);
  base::Status read_block(std::span<Event> out);
  base::Status read_values(size_t events, BlockValues& values);
  template <bool kFreedByUse>
  void put_together(std::span<Event> run, const BlockValues& values, BlockPlace& place);
  bool next_thread();
  base::Status finish() const;

  std::vector<uint64_t> words_;
  std::unique_ptr<WordsReader> message_;
  ColumnReader ops_, sizes_, addresses_, freed_, alignments_, threads_;
  NewAddressPredictor new_address_;
  LastAddress last_freed_;  // or last used: see freed_by_use_
  std::vector<TimeSample> times_;
  std::vector<ThreadEnd> ends_;
  std::vector<ProcessSample> samples_;
  std::vector<Mark> marks_;
  ColumnReader stacks_;
  std::vector<Frame> frames_;
  std::vector<CodeMapping> mappings_;
  FrameNumber first_frame_ = 0;
  bool has_stacks_ = false;
  uint64_t first_event_ = 0;
  uint32_t count_ = 0;
  uint32_t position_ = 0;
  uint32_t thread_ = 0;
  uint64_t run_left_ = 0;
  int unit_log2_ = 0;
  bool freed_by_use_ = false;
};

}  // namespace heaptape::schema
