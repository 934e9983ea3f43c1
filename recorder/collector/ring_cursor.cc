#include "recorder/collector/ring_cursor.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "base/address/address_range.h"
#include "base/clock.h"
#include "schema/tape/stack_end.h"

namespace heaptape::recorder {
namespace {

constexpr uint32_t kRingsThatKeepTheirMemory = 16;
// A thread that wrote no more between two looks is idle. It may keep as much.
constexpr uint64_t kIdleWords = 4 * kSegmentWords;
constexpr uint64_t kLookEveryNs = 1000 * base::kMillisecondNs;

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

void RingCursor::take(CallBatch& batch, uint64_t last_order, uint32_t most) {
  batch.count = 0;
  if (peek() == nullptr || order_ > last_order) return;
  batch.is_stamped = call_.stamp != 0;
  batch.ticks = batch.is_stamped ? 0 : call_.ticks;
  batch.events[0] = call_.event;
  batch.stacks[0] = call_.stack;
  batch.stamps[0] = order_;
  batch.positions[0] = tail_;
  pop();
  // Calls. decode() handles all other words.
  const uint64_t segment_end = (batch.positions[0] / kSegmentWords + 1) * kSegmentWords;
  const uint64_t end = std::min(segment_end, end_);
  const bool is_stamped = batch.is_stamped;
  const uint32_t thread = thread_;
  uint32_t count = 1;
  uint64_t at = tail_;
  uint64_t order = order_;
  bool ends_by_order = false;
  while (at < end && count < most) {
    const uint64_t* const words = words_ + at % kRingWords;
    const uint64_t first = load_word(words);
    const RecordShape& shape = kRecordShapes.rows[first & 0xff];
    if (shape.words == 0 || shape.words > end - at || shape.is_stamped != is_stamped) break;
    const uint64_t next_order = is_stamped ? std::max(order, load_word(words + 1)) : order;
    if (next_order > last_order) {
      ends_by_order = true;
      break;
    }
    // Without a branch on release or allocation, which no processor predicts. (The size of a
    // release is its first word, and dropped.)
    const uint64_t not_released = shape.kind == OpKind::kRelease ? 0 : ~uint64_t{0};
    const uint64_t address = first >> kAddressShift;
    schema::Event& event = batch.events[count];
    event.op = static_cast<Op>(first & kOpMask);
    event.thread = thread;
    event.size = load_word(words + shape.size_at) & not_released;
    event.alignment = 0;
    event.address = address & not_released;
    event.freed_address = address & ~not_released;
    batch.stacks[count] = 0;
    if (shape.has_more) [[unlikely]] {
      if (shape.alignment_at != 0) event.alignment = load_word(words + shape.alignment_at);
      if (shape.old_address_at != 0) event.freed_address = load_word(words + shape.old_address_at);
      const uint64_t stack = shape.stack_at != 0 ? load_word(words + shape.stack_at) : 0;
      if (event.freed_address >= base::kAddressLimit) break;
      if (!find_stack(stack, batch.stacks[count])) break;
    }
    batch.stamps[count] = order = next_order;
    batch.positions[count++] = at;
    at += shape.words;
  }
  batch.count = count;
  batch.is_cut_short = at < end_ && !ends_by_order;
  tail_ = at;
  order_ = order;
}

void RingCursor::return_from(const CallBatch& batch, uint32_t first) {
  if (first == batch.count) return;
  has_call_ = false;
  tail_ = batch.positions[first];
  order_ = batch.stamps[first];
  if (first == 0) mark_ = batch.ticks;
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

bool RingCursor::trim_if_idle(uint64_t now_ns) {
  if (now_ns < next_look_ns_) return false;
  next_look_ns_ = now_ns + kLookEveryNs;
  const bool is_idle = end_ - seen_end_ <= kIdleWords;
  seen_end_ = end_;
  if (!is_idle || broken_ || !drained() || end_ - trimmed_at_ <= kIdleWords) return false;
  ring_->closed.store(1);
  // Its own segment, or the next; from a hostile producer anything.
  const uint64_t entered = ring_->entered.load();
  const uint64_t segment = end_ / kSegmentWords * kSegmentWords;
  const bool may_trim = entered - segment <= kSegmentWords;
  if (may_trim) {
    const uint64_t kept = segment % kRingWords;
    remove_pages(0, kept);
    remove_pages(kept + kSegmentWords, kRingWords);
    trimmed_at_ = end_;
  }
  ring_->closed.store(0);
  wake_producer();
  return may_trim;
}

void RingCursor::remove_pages(uint64_t first_word, uint64_t end_word) {
  if (first_word == end_word) return;
  madvise(words_ + first_word, (end_word - first_word) * sizeof *words_, MADV_REMOVE);
}

void RingCursor::free_ring() {
  // Of a storm of busy threads, give the memory back.
  const bool used_much = ring_->head.load(std::memory_order_relaxed) > 2 * kIdleWords;
  if (index_ >= kRingsThatKeepTheirMemory && used_much) remove_pages(0, kRingWords);
  ring_->head.store(0, std::memory_order_relaxed);
  ring_->resizing.store(0, std::memory_order_relaxed);
  ring_->entered.store(0, std::memory_order_relaxed);
  ring_->closed.store(0, std::memory_order_relaxed);
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
