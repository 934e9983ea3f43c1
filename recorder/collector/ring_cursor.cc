#include "recorder/collector/ring_cursor.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "base/address/address_range.h"
#include "schema/tape/stack_end.h"

namespace heaptape::recorder {
namespace {

constexpr uint32_t kRingsThatKeepTheirMemory = 64;

}  // namespace

void RingCursor::refresh() {
  // Before the look at the head: a dead producer publishes nothing more.
  if (!dead_) dead_ = owner() == OwnerState::kDead;
  if (broken_) {
    let_go();
    return;
  }
  const uint64_t head = ring_->head.load(std::memory_order_acquire);
  if (head < end_ || head - released_ > kRingWords) {
    broken_ = true;
    return;
  }
  end_ = head;
}

bool RingCursor::decode() {
  while (tail_ < end_ && !broken_) {
    const uint64_t segment_end = (tail_ / kSegmentWords + 1) * kSegmentWords;
    const auto available = static_cast<uint32_t>(std::min(segment_end, end_) - tail_);
    Record record;
    switch (read_record(words_ + tail_ % kRingWords, available, record)) {
      case ReadRecord::kSegmentEnd:
        tail_ = std::min(segment_end, end_);
        continue;
      case ReadRecord::kTimeMark:
        mark_ = record.stamp;
        tail_ += record.words;
        continue;
      case ReadRecord::kFrame:
        broken_ = !add_frame(record);
        tail_ += record.words;
        continue;
      case ReadRecord::kCorrupt:
        broken_ = true;
        continue;
      case ReadRecord::kRecord:
        if (record.old_address >= base::kAddressLimit || !find_stack(record.stack, call_.stack)) {
          broken_ = true;
          continue;
        }
        // Records from before the process had a second thread carry no stamp and come first.
        order_ = std::max(order_, record.stamp);
        call_ = to_logged_call(record, thread_, call_.stack);
        if (call_.stamp == 0) call_.ticks = mark_;
        mark_ = 0;
        call_words_ = record.words;
        has_call_ = true;
        return true;
    }
  }
  return false;
}

// False where no producer of ours wrote it.
bool RingCursor::add_frame(const Record& frame) {
  schema::FrameNumber caller = 0;
  if (stacks_ == nullptr || frames_.size() == kMostRingFrames) return false;
  const uint64_t address = frame.address & ~schema::kGuessFlag;
  if (address >= base::kAddressLimit || !find_stack(frame.stack, caller)) return false;
  frames_.push_back(stacks_->find_or_add({caller, address, address != frame.address}));
  return true;
}

bool RingCursor::find_stack(uint64_t number, schema::FrameNumber& found) const {
  if (number > frames_.size()) return false;
  found = number == 0 ? 0 : frames_[number - 1];
  return true;
}

void RingCursor::release() {
  if (tail_ == released_) return;
  released_ = tail_;
  header_->progress.fetch_add(1, std::memory_order_relaxed);
  ring_->tail.store(tail_);  // before the look at producer_waits, for every thread
  // A producer that waits is woken for half a ring, not for a few words that it fills at once.
  if (end_ - tail_ <= kRingWords / 2) wake_producer();
}

// Its program goes on, though nobody reads what it writes.
void RingCursor::let_go() {
  ring_->tail.store(ring_->head.load());
  wake_producer();
}

void RingCursor::wake_producer() {
  if (ring_->producer_waits.load() == 0) return;
  ring_->space.fetch_add(1);
  syscall(SYS_futex, &ring_->space, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void RingCursor::free_ring() {
  // Of a storm of busy threads, give the memory back.
  const bool used_much = ring_->head.load(std::memory_order_relaxed) > kRingWords / 4;
  if (index_ >= kRingsThatKeepTheirMemory && used_much) madvise(words_, kRingBytes, MADV_REMOVE);
  ring_->head.store(0, std::memory_order_relaxed);
  ring_->resizing.store(0, std::memory_order_relaxed);
  ring_->tail.store(0, std::memory_order_relaxed);
  ring_->producer_waits.store(0, std::memory_order_relaxed);
  ring_->lost_full.store(0, std::memory_order_relaxed);
  ring_->lost_stopped.store(0, std::memory_order_relaxed);
  ring_->stalls.store(0, std::memory_order_relaxed);
  ring_->stall_ns.store(0, std::memory_order_relaxed);
  ring_->state.store(RingState::kFree, std::memory_order_relaxed);
  ring_->lock.word.store(0, std::memory_order_release);
  header_->progress.fetch_add(1, std::memory_order_relaxed);
  lower(header_->rings_taken, index_);
}

}  // namespace heaptape::recorder
