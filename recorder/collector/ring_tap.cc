#include "recorder/collector/ring_tap.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"

namespace heaptape::recorder {
namespace {

constexpr uint32_t kRingsThatKeepTheirMemory = 16;
// A thread that wrote no more between two looks is idle. It may keep as much.
constexpr uint64_t kIdleWords = 4 * kSegmentWords;
constexpr uint64_t kBusyWords = 4 * kSegmentWords;
constexpr uint64_t kLookEveryNs = 1000 * base::kMillisecondNs;

void wake_producer(RingHeader& ring) {
  if (ring.producer_waits.load() == 0) return;
  ring.space.fetch_add(1);
  syscall(SYS_futex, &ring.space, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

}  // namespace

void RingTap::pull() {
  const uint64_t head = ring_->head.load(std::memory_order_acquire);
  broken_ |= head < copied_ || head - copied_ > kRingWords;
  if (broken_) {
    set_tail(head);
    return;
  }
  if (head == copied_) return;
  copy(head);
  progress_->fetch_add(1, std::memory_order_relaxed);
  set_tail(copied_);
}

void RingTap::copy(uint64_t head) {
  while (copied_ < head) {
    const uint64_t begin = copied_ % kSegmentWords;
    if (begin == 0) {
      // Room first: a segment that is taken counts until it is given back.
      if (segments_.size() == segments_.capacity()) segments_.reserve(2 * segments_.size() + 4);
      segments_.push_back(backlog_.take_segment());
      open_ = segments_.back().get();
    }
    const uint64_t count = std::min(kSegmentWords - begin, head - copied_);
    std::memcpy(open_ + begin, words_ + copied_ % kRingWords, count * sizeof *words_);
    copied_ += count;
  }
}

void RingTap::set_tail(uint64_t tail) {
  ring_->tail.store(tail);  // before the look at producer_waits, for every thread
  wake_producer(*ring_);
}

std::optional<uint32_t> RingTap::busy_processor() {
  if (copied_ - busy_at_ < kBusyWords) return std::nullopt;
  busy_at_ = copied_;
  const uint32_t from_one = ring_->processor.load(std::memory_order_relaxed);
  if (from_one == 0) return std::nullopt;
  return from_one - 1;
}

bool RingTap::trim_if_idle(uint64_t now_ns) {
  if (now_ns < next_look_ns_) return false;
  next_look_ns_ = now_ns + kLookEveryNs;
  const bool is_idle = copied_ - seen_ <= kIdleWords;
  seen_ = copied_;
  return is_idle && copied_ - trimmed_at_ > kIdleWords && trim();
}

bool RingTap::trim() {
  if (broken_ || waiting() != 0) return false;
  ring_->closed.store(1);
  // Its own segment, or the next; from a hostile producer anything.
  const uint64_t entered = ring_->entered.load();
  const uint64_t segment = copied_ / kSegmentWords * kSegmentWords;
  const bool may_trim = entered - segment <= kSegmentWords;
  if (may_trim) {
    const uint64_t kept = segment % kRingWords;
    remove_pages(0, kept);
    remove_pages(kept + kSegmentWords, kRingWords);
    trimmed_at_ = copied_;
  }
  ring_->closed.store(0);
  wake_producer(*ring_);
  return may_trim;
}

void RingTap::remove_pages(uint64_t first_word, uint64_t end_word) {
  if (first_word == end_word) return;
  madvise(words_ + first_word, (end_word - first_word) * sizeof *words_, MADV_REMOVE);
}

void free_ring(SessionView session, uint32_t index) {
  RingHeader& ring = session.ring(index);
  // Of a storm of busy threads, give the memory back.
  const bool used_much = ring.head.load(std::memory_order_relaxed) > 2 * kIdleWords;
  if (index >= kRingsThatKeepTheirMemory && used_much) {
    madvise(session.words(index), kRingBytes, MADV_REMOVE);
  }
  ring.head.store(0, std::memory_order_relaxed);
  ring.resizing.store(0, std::memory_order_relaxed);
  ring.entered.store(0, std::memory_order_relaxed);
  ring.processor.store(0, std::memory_order_relaxed);
  ring.closed.store(0, std::memory_order_relaxed);
  ring.tail.store(0, std::memory_order_relaxed);
  ring.producer_waits.store(0, std::memory_order_relaxed);
  clear_counts(ring);
  ring.state.store(RingState::kFree, std::memory_order_relaxed);
  ring.lock.word.store(0, std::memory_order_release);
  session.board().progress.fetch_add(1, std::memory_order_relaxed);
  lower(session.header().rings_taken, index);
}

}  // namespace heaptape::recorder
