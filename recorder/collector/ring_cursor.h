// Reads one ring, as the collector: the consumer's half of session_layout.h.
#pragma once

#include <cstdint>
#include <vector>

#include "recorder/collector/call_batch.h"
#include "recorder/collector/logged_call.h"
#include "recorder/collector/stack_table.h"
#include "recorder/ring/session_layout.h"

namespace heaptape::recorder {

// Guarantees, whatever the producer writes, and whenever:
// - Each published record is returned once, in the ring's order; order() never decreases.
// - Every call returned has a valid op, addresses below base::kAddressLimit, and a stack whose
//   frames are on the tape. All else (sizes, stamps, which block) is as the producer wrote it.
// - A head that goes back or is more than a ring ahead, and words that are not a record, break the
//   ring: broken() is true from then on and nothing more is read from it.
// - Nothing outside the ring is read, and nothing waits for the producer.
//
// One thread.
class RingCursor {
 public:
  // `stacks` outlives the cursor; null where the session records none.
  RingCursor(SessionView session, uint32_t index, uint32_t thread, StackTable* stacks)
      : header_(&session.header()),
        ring_(&session.ring(index)),
        words_(session.words(index)),
        stacks_(stacks),
        index_(index),
        thread_(thread) {}

  uint32_t index() const { return index_; }
  uint32_t thread() const { return thread_; }  // dense, in its process
  OwnerState owner() const { return owner_state(ring_->lock); }
  // Its owner lives, and is not one of which nothing is known.
  bool owner_is_seen_alive() const {
    return owner() == OwnerState::kLives &&
           ring_->lock.word.load(std::memory_order_relaxed) != kUnwatchedOwner;
  }
  RingHeader& header() const { return *ring_; }
  bool broken() const { return broken_; }

  // Shows peek() what the producer has published up to now, and sees whether it is dead: then that
  // is all.
  void refresh();
  // Its owner was dead at a refresh().
  bool is_dead() const { return dead_; }
  // Once, when its owner was dead at a refresh() and all that it published is popped.
  bool comes_to_its_end() {
    if (!dead_ || end_noted_ || !(broken_ || drained())) return false;
    end_noted_ = true;
    return true;
  }

  // The next call, or null when none is visible. Stays valid until pop().
  const LoggedCall* peek() {
    if (has_call_) return &call_;
    return decode() ? &call_ : nullptr;
  }
  // Where the call that peek() returned stands among those of other threads.
  uint64_t order() const { return order_; }
  // Requires a peek() since the last pop() that was not null.
  void pop() {
    tail_ += call_words_;
    has_call_ = false;
  }

  // Pops the next calls into `batch`, as many as lie in one segment and have an order() up to
  // `last_order`: 0 for those without a stamp. None where none is visible, and at most `most`,
  // which is not 0.
  void take(CallBatch& batch, uint64_t last_order, uint32_t most = CallBatch::kMost);
  // The calls of the last take() from this one on, which were not used, are to come again. Requires
  // that nothing else was asked of the cursor since.
  void return_from(const CallBatch& batch, uint32_t first);

  // Gives the words of popped calls back to the producer; wakes it if it waits and the ring is at
  // least half empty.
  void release();
  // The same, once there is enough to be worth the other processor's cache miss.
  void release_if_due() {
    if (tail_ - released_ >= kRingWords / 8) release();
  }
  // Everything that refresh() saw is popped.
  bool drained() const { return !has_call_ && tail_ == end_; }
  // refresh() saw enough in the ring for its producer to wake us.
  bool holds_half() const { return end_ - tail_ >= kRingWords / 2; }
  // The ring holds enough for its producer to wake us, and some of it came after refresh().
  bool is_half_full() const {
    const uint64_t head = ring_->head.load(std::memory_order_relaxed);
    return !broken_ && head != end_ && head - tail_ >= kRingWords / 2;
  }
  // Its thread is in the middle of a resize that may have given `block` up already, and whose
  // record is yet to come.
  bool may_give_up(uint64_t block) const {
    return ring_->resizing.load(std::memory_order_acquire) == block && !broken_ &&
           (forsaken_ != block || forsaken_at_ != end_);
  }
  // What may_give_up(block) promised did not come in time: it promises that no more, until the
  // thread has logged something.
  void forsake(uint64_t block) {
    forsaken_ = block;
    forsaken_at_ = end_;
  }

  // If the thread has made few calls in the last second, and none just now, the memory of all
  // segments but its own goes back to the system: then true. Looks once a second.
  bool trim_if_idle(uint64_t now_ns);

  // Makes the ring free for another thread. Its own must be dead; the cursor is not used again.
  void free_ring();

 private:
  bool decode();
  void let_go();
  void remove_pages(uint64_t first_word, uint64_t end_word);
  void wake_producer();
  bool add_frame(const Record& frame);
  bool find_stack(uint64_t number, schema::FrameNumber& found) const;

  SessionHeader* header_;
  RingHeader* ring_;
  uint64_t* words_;
  StackTable* stacks_;
  std::vector<schema::FrameNumber> frames_;  // on the tape, by number in the ring from 1
  uint32_t index_;
  uint32_t thread_;
  uint64_t tail_ = 0;      // where the call of peek() begins
  uint64_t end_ = 0;       // the published head, as last checked
  uint64_t released_ = 0;  // tail as the producer knows it
  uint64_t order_ = 0;
  uint64_t next_look_ns_ = 0;  // of trim_if_idle()
  uint64_t seen_end_ = 0;      // end_ at the last one
  uint64_t trimmed_at_ = 0;    // end_ then
  bool has_call_ = false;
  bool broken_ = false;
  bool dead_ = false;
  bool end_noted_ = false;
  uint64_t mark_ = 0;  // the time mark before the next call; 0: none
  uint64_t forsaken_ = 0;
  uint64_t forsaken_at_ = 0;  // end_ then
  uint32_t call_words_ = 0;
  LoggedCall call_;
};

}  // namespace heaptape::recorder
