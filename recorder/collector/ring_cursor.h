// Reads the calls of one thread out of the words that were copied from its ring.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "recorder/collector/call_batch.h"
#include "recorder/collector/logged_call.h"
#include "recorder/collector/ring_tap.h"
#include "recorder/collector/stack_table.h"
#include "recorder/ring/session_layout.h"

namespace heaptape::recorder {

// Guarantees, whatever the producer writes, and whenever:
// - Each published record is returned once, in the ring's order; order() never decreases.
// - Every call returned has a valid op, addresses below base::kAddressLimit, and a stack whose
//   frames are on the tape. All else (sizes, stamps, which block) is as the producer wrote it.
// - A ring that is broken for its RingTap, and words that are not a record, break the ring: then it
//   is broken() for good, and nothing more is read from it.
//
// Words come in rounds, so that what is copied early is not seen early: copy() them, and
// show_round() when all that was copied before is on the tape.
// One thread.
class RingCursor {
 public:
  // `backlog` and `stacks` outlive the cursor; no stacks where the session records none.
  RingCursor(Backlog& backlog, SessionView session, uint32_t index, uint32_t thread,
             StackTable* stacks)
      : backlog_(backlog),
        session_(session),
        ring_(&session.ring(index)),
        tap_(backlog, session, index),
        stacks_(stacks),
        index_(index),
        thread_(thread) {}
  ~RingCursor();
  RingCursor(const RingCursor&) = delete;
  RingCursor& operator=(const RingCursor&) = delete;

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

  // Requires the backlog's mutex: words that are not copied yet, and copies them, as part of that
  // round. Rounds are numbered from 1; none is older than the one before.
  uint64_t waiting() const { return broken_ || tap_.broken() ? 0 : tap_.waiting(); }
  void copy(uint64_t round);
  // Shows peek() what was copied up to that round, and sees whether the owner was dead then: in
  // that case it is all.
  void show_round(uint64_t round);
  // Shows peek() the next call, if the producer has published it by now.
  void show_next();
  // Its owner was dead at the last round shown.
  bool is_dead() const { return dead_; }
  // Once, when its owner is_dead() and all that it published is popped; not of a thread that has
  // nothing on the tape.
  bool comes_to_its_end() {
    if (!dead_ || end_noted_ || !(broken_ || drained())) return false;
    end_noted_ = true;
    return tail_ != tape_begin_;
  }

  // The next call, or null when none is visible. Stays valid until pop().
  const LoggedCall* peek() {
    if (has_call_) return &call_;
    return decode() ? &call_ : nullptr;
  }
  // The call that peek() returns, if any, is no event: it steers the allocator or maps memory.
  bool is_beside_events() { return peek() != nullptr && !call_.is_event(); }
  // Where the call that peek() returned stands among those of other threads.
  uint64_t order() const { return order_; }
  // Requires a peek() since the last pop() that was not null.
  void pop() {
    tail_ += call_words_;
    has_call_ = false;
  }

  // Pops the next calls into `batch`, as many as lie in one segment, have an order() up to
  // `last_order` (0 for those without a stamp) and come before one that is_beside_events(). None
  // where none is visible, and at most `most`, which is not 0.
  void take(CallBatch& batch, uint64_t last_order, uint32_t most = CallBatch::kMost);
  // The calls of the last take() from this one on, which were not used, are to come again. Requires
  // that nothing else was asked of the cursor since.
  void return_from(const CallBatch& batch, uint32_t first);

  // Gives the memory of popped calls back to the backlog.
  void release();
  // The same, once there is enough to be worth it.
  void release_if_due() {
    if (tail_ >= (first_segment_ + kSegmentsPerRelease) * kSegmentWords) release();
  }
  // All that can be seen is popped.
  bool is_read() const { return !has_call_ && tail_ == end_; }
  // Everything that was copied is popped.
  bool drained() const { return !has_call_ && tail_ == copied_; }
  // Its thread is in the middle of a resize that may have given `block` up already, and whose
  // record is yet to come.
  bool may_give_up(uint64_t block) const {
    return ring_->resizing.load(std::memory_order_acquire) == block && !broken_ &&
           (forsaken_ != block || forsaken_at_ != copied_);
  }
  // What may_give_up(block) promised did not come in time: it promises that no more, until the
  // thread has logged something.
  void forsake(uint64_t block) {
    forsaken_ = block;
    forsaken_at_ = copied_;
  }

  // What is popped from now on goes onto another tape, on which the thread has this number, but
  // for resizes that began up to `cut`: the blocks that they gave up are others' on that tape.
  void change_tape(uint32_t thread, uint64_t cut) {
    thread_ = thread;
    tape_cut_ = cut;
    has_call_ = false;  // it has the old number
    tape_begin_ = tail_;
  }

  // As RingTap has them.
  bool trim_if_idle(uint64_t now_ns);
  bool trim();

  // As recorder::free_ring(); the cursor is not used again.
  void free_ring();

 private:
  static constexpr uint64_t kSegmentsPerRelease = 16;

  // What was copied by a round.
  struct Copied {
    uint64_t round;
    uint64_t end;
    bool is_dead;
  };

  // The words of the segment that holds `position`.
  const uint64_t* segment_of(uint64_t position) const {
    return segments_[position / kSegmentWords - first_segment_].get();
  }
  void copy();
  bool decode();
  bool is_of_another_tape(uint64_t begin_stamp) const {
    return begin_stamp != 0 && begin_stamp <= tape_cut_;
  }
  bool add_frame(const Record& frame);
  bool find_stack(uint64_t number, schema::FrameNumber& found) const;
  bool find_mappings_stack(const Record& record, schema::FrameNumber& found) const;

  Backlog& backlog_;
  SessionView session_;
  RingHeader* ring_;
  RingTap tap_;
  StackTable* stacks_;
  std::deque<Backlog::Segment> segments_;    // with words that are not popped, and more
  uint64_t first_segment_ = 0;               // of the ring's segments, counted without end
  std::vector<Copied> rounds_;               // that are not shown, and had news
  Copied noted_{};                           // the last of them
  std::vector<schema::FrameNumber> frames_;  // on the tape, by number in the ring from 1
  uint32_t index_;
  uint32_t thread_;
  uint64_t tail_ = 0;        // where the call of peek() begins
  uint64_t tape_begin_ = 0;  // tail_ when its tape began
  uint64_t tape_cut_ = 0;    // of that moment
  uint64_t end_ = 0;         // what can be seen
  uint64_t copied_ = 0;      // what is in segments_
  uint64_t order_ = 0;
  bool has_call_ = false;
  bool broken_ = false;
  bool dead_ = false;
  bool end_noted_ = false;
  uint64_t mark_ = 0;  // the time mark before the next call; 0: none
  uint64_t forsaken_ = 0;
  uint64_t forsaken_at_ = 0;  // copied_ then
  uint32_t call_words_ = 0;
  LoggedCall call_;
};

}  // namespace heaptape::recorder
