// Reads one ring, as the collector: the consumer half of session_layout.h.
#pragma once

#include <cstdint>

#include "recorder/ring/record.h"
#include "recorder/ring/session_layout.h"

namespace heaptape::recorder {

// The producer may be hostile: whatever it wrote is checked, and a ring that does not hold records
// is given up (broken()). One thread.
class RingCursor {
 public:
  RingCursor(SessionView session, uint32_t index, uint32_t thread)
      : ring_(&session.ring(index)), words_(session.words(index)), index_(index), thread_(thread) {}

  uint32_t index() const { return index_; }
  uint32_t thread() const { return thread_; }  // dense, in its process
  uint32_t tid() const { return ring_->tid; }
  RingHeader& header() const { return *ring_; }
  bool broken() const { return broken_; }

  // Makes what the producer has published since visible to peek().
  void refresh();

  // The next record, or null when none is visible. Stays valid until pop(). Its order() never
  // decreases from one record of a ring to the next.
  const Record* peek() {
    if (has_record_) return &record_;
    return decode() ? &record_ : nullptr;
  }
  // Where the record that peek() returned stands among those of other threads.
  uint64_t order() const { return order_; }
  void pop() {
    tail_ += record_.words;
    has_record_ = false;
  }

  // Gives the words read so far back to the producer; wakes it if it waits and the ring is half
  // empty.
  void release();
  // The same, once enough has been read to be worth the other processor's cache miss.
  void release_if_due() {
    if (tail_ - released_ >= kRingWords / 8) release();
  }
  // Everything that refresh() saw is read.
  bool drained() const { return !has_record_ && tail_ == end_; }
  // Nothing has been published since refresh(), or nobody can read it.
  bool idle() const { return broken_ || ring_->head.load(std::memory_order_relaxed) == end_; }
  // Takes the ring from a thread that is gone.
  void free_ring();

 private:
  bool decode();

  RingHeader* ring_;
  const uint64_t* words_;
  uint32_t index_;
  uint32_t thread_;
  uint64_t tail_ = 0;      // next word to read
  uint64_t end_ = 0;       // published head, as last checked
  uint64_t released_ = 0;  // tail as the producer knows it
  uint64_t order_ = 0;
  bool has_record_ = false;
  bool broken_ = false;
  Record record_;
};

}  // namespace heaptape::recorder
