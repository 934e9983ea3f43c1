#include "recorder/collector/tape_clock.h"

#include "base/clock.h"

namespace heaptape::recorder {
namespace {

// The shortest pause that is told, and the most between two samples of a program that is slow.
constexpr uint64_t kPauseNs = base::kMillisecondNs;

}  // namespace

TapeClock::TapeClock(const Board& board, schema::TapeEncoder& tape, uint64_t start_ns)
    : tape_(tape),
      start_ns_(start_ns),
      ticks_per_ms_(board.clock == Clock::kTsc ? static_cast<int64_t>(board.ticks_per_ms) : 0),
      time_ns_(start_ns) {}

void TapeClock::begin_drain(uint64_t cut, uint64_t now_ns) {
  now_ns_ = std::max(now_ns, start_ns_);
  if (cut == kNoCut || ticks_per_ms_ <= 0) return;
  has_ticks_ = true;
  anchor_ticks_ = cut;
  anchor_ns_ = now_ns;
}

uint64_t TapeClock::time_of(uint64_t ticks) const {
  const double since_ms =
      static_cast<double>(elapsed(anchor_ticks_, ticks)) / static_cast<double>(ticks_per_ms_);
  const double ns =
      static_cast<double>(static_cast<int64_t>(anchor_ns_ - start_ns_)) + since_ms * 1e6;
  return start_ns_ +
         static_cast<uint64_t>(std::clamp(ns, 0.0, static_cast<double>(now_ns_ - start_ns_)));
}

void TapeClock::put(uint64_t ns) {
  if (ns < time_ns_) return;
  tape_.add_time(ns - start_ns_);
  time_event_ = tape_.events();
  time_ns_ = ns;
  next_event_ = time_event_ + kCallsPerTime;
}

// The time between two stamps is a pause, that between two marks is that of all calls in between.
void TapeClock::add(uint64_t ticks, bool is_stamp) {
  if (is_stamp && last_is_stamp_ && elapsed(last_ticks_, ticks) > ticks_per_ms_) {
    put(time_of(last_ticks_));
  }
  put(time_of(ticks));
}

size_t TapeClock::note_calls_without_time(std::span<const uint64_t> stamps) {
  if (!has_ticks_) return stamps.size();
  const uint64_t left = next_event_ - std::min(next_event_, tape_.events());
  stamps = stamps.first(std::min<size_t>(stamps.size(), left));
  size_t count = 0;
  for (const uint64_t stamp : stamps) {
    if (elapsed(last_ticks_, stamp) > ticks_per_ms_) break;
    last_ticks_ = stamp;
    ++count;
  }
  last_is_stamp_ |= count != 0;
  return count;
}

void TapeClock::end_pause() {
  if (pause_ns_ >= time_ns_ + kPauseNs) put(pause_ns_);
  pause_ns_ = 0;
}

void TapeClock::end_drain(uint64_t calls) {
  if (calls == 0) {
    // The calls that no sample has yet were followed by a pause.
    if (time_event_ != tape_.events()) put(calls_ns_);
    pause_ns_ = now_ns_;
    return;
  }
  calls_ns_ = last_is_stamp_ && has_ticks_ ? time_of(last_ticks_) : now_ns_;
  const bool is_due = tape_.events() >= next_event_ || calls_ns_ >= time_ns_ + kPauseNs;
  if (is_due) put(calls_ns_);
}

void TapeClock::finish() {
  if (time_event_ != tape_.events()) put(calls_ns_);
  put(now_ns_);
}

}  // namespace heaptape::recorder
