// Takes the words out of one ring: the consumer's half of session_layout.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "recorder/collector/backlog.h"
#include "recorder/ring/session_layout.h"

namespace heaptape::recorder {

// Makes the ring free for another thread. Its own must be dead.
void free_ring(SessionView session, uint32_t index);

// Guarantees, whatever the producer writes, and whenever:
// - Each published word is copied once, in the ring's order.
// - A head that goes back or is more than a ring ahead breaks the ring: nothing more is copied.
// - Nothing outside the ring is read, and nothing waits for the producer.
//
// The functions require the mutex of the backlog, but for those that say otherwise.
class RingTap {
 public:
  // Needs no mutex. `backlog` outlives the tap.
  RingTap(Backlog& backlog, SessionView session, uint32_t index)
      : backlog_(backlog),
        progress_(&session.board().progress),
        ring_(&session.ring(index)),
        words_(session.words(index)) {
    backlog_.add(*this);
  }
  ~RingTap() { backlog_.remove(*this); }
  RingTap(const RingTap&) = delete;
  RingTap& operator=(const RingTap&) = delete;

  // Words that pull() would copy; of a broken ring too many.
  uint64_t waiting() const { return ring_->head.load(std::memory_order_relaxed) - copied_; }
  // The ring holds enough for its producer to wake us: that counts the segment which it enters.
  bool is_half_full() const { return !broken_ && waiting() >= kRingWords / 2 - kSegmentWords; }
  bool broken() const { return broken_; }
  // Its producer waits for room, or for the ring to be opened.
  bool is_waited_for() const { return ring_->producer_waits.load(std::memory_order_relaxed) != 0; }
  // Words copied since the ring was claimed.
  uint64_t copied() const { return copied_; }
  // That of its thread, counted from 0; nothing if it made few calls since the last answer, or if
  // it is not known. A hostile producer may say anything.
  std::optional<uint32_t> busy_processor();

  // Copies what the producer has published, gives it that room back, and wakes it if it waits.
  void pull();
  // The segments into which words were copied since the last call, each once, in order: the last
  // one may get more words.
  std::vector<Backlog::Segment> take_segments() { return std::move(segments_); }

  // Its words are of no use. Its program goes on, though nobody reads what it writes.
  void give_up() { broken_ = true; }

  // If the thread has made no call since the last pull(), the memory of all segments but its own
  // goes back to the system: then true.
  bool trim();
  // The same of a thread that has also made few calls in the last second. Looks once a second.
  bool trim_if_idle(uint64_t now_ns);

 private:
  void copy(uint64_t head);
  void set_tail(uint64_t tail);
  void remove_pages(uint64_t first_word, uint64_t end_word);

  Backlog& backlog_;
  std::atomic<uint32_t>* progress_;
  RingHeader* ring_;
  uint64_t* words_;
  std::vector<Backlog::Segment> segments_;
  uint64_t* open_ = nullptr;  // the segment that copied_ is in, if not at its begin
  uint64_t copied_ = 0;
  bool broken_ = false;
  uint64_t busy_at_ = 0;       // copied_ at the last answer of busy_processor()
  uint64_t next_look_ns_ = 0;  // of trim_if_idle()
  uint64_t seen_ = 0;          // copied_ at the last one
  uint64_t trimmed_at_ = 0;    // copied_ then
};

}  // namespace heaptape::recorder
