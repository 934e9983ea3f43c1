// When the calls of one process were made: the time samples of its tape.
//
// Stamps and time marks (recorder/ring/record.h) say when a call was made. From them comes a sample
// every kCallsPerTime calls and, of stamps, one on each side of a pause of 1 ms. Calls that come
// without either have the time of the drain that finds them: a drain that finds none says that
// there was a pause.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "recorder/ring/session_layout.h"
#include "schema/tape/tape_encoder.h"

namespace heaptape::recorder {

// Trusts no stamp and no mark: no time is later than the drain that finds it, and none goes back.
// One thread.
class TapeClock {
 public:
  static constexpr uint64_t kCallsPerTime = 512;

  // Times count from `start_ns`, monotonic. `tape` outlives the clock.
  TapeClock(const Board& board, schema::TapeEncoder& tape, uint64_t start_ns);

  // A drain begins at `now_ns`, when a stamp was `cut`; kNoCut: no stamp was taken.
  static constexpr uint64_t kNoCut = UINT64_MAX;
  void begin_drain(uint64_t cut, uint64_t now_ns);
  // It finds calls.
  void end_pause();
  // A call goes onto the tape. `ticks`: the time of its stamp or of the mark before it; 0: none.
  void note_call(uint64_t ticks, bool is_stamp) {
    if (ticks == 0 || !has_ticks_) return;
    if (tape_.events() >= next_event_ || elapsed(last_ticks_, ticks) > ticks_per_ms_) [[unlikely]]
      add(ticks, is_stamp);
    last_ticks_ = ticks;
    last_is_stamp_ = is_stamp;
  }
  // The same for the first of many calls with these stamps, as far as none gets a time. Returns how
  // many those are.
  size_t note_calls_without_time(std::span<const uint64_t> stamps);
  // It ends, having found so many calls.
  void end_drain(uint64_t calls);
  // The process has ended, or is left: there are no more drains.
  void finish();

 private:
  // Negative if `to` is before. Marks have 56 bits.
  static int64_t elapsed(uint64_t from, uint64_t to) {
    return static_cast<int64_t>((to - from) << 8) >> 8;
  }
  uint64_t time_of(uint64_t ticks) const;
  void add(uint64_t ticks, bool is_stamp);
  void put(uint64_t ns);

  schema::TapeEncoder& tape_;
  const uint64_t start_ns_;
  const int64_t ticks_per_ms_;
  bool has_ticks_ = false;  // and below, what they were when
  uint64_t anchor_ticks_ = 0;
  uint64_t anchor_ns_ = 0;
  uint64_t now_ns_ = 0;         // of this drain
  uint64_t calls_ns_ = 0;       // of the last drain that found calls
  uint64_t pause_ns_ = 0;       // of the last drain, if it found none; else 0
  uint64_t last_ticks_ = 0;     // of the last call that had any
  bool last_is_stamp_ = false;  // and that call was the last of all
  uint64_t time_event_ = 0;     // of the last sample
  uint64_t time_ns_ = 0;
  uint64_t next_event_ = 0;
};

}  // namespace heaptape::recorder
