#include "recorder/collector/ring_cursor.h"

#include <algorithm>
#include <iterator>
#include <mutex>

#include "base/address/address_range.h"
#include "schema/tape/stack_end.h"

namespace heaptape::recorder {

RingCursor::~RingCursor() {
  backlog_.remove(tap_);
  std::vector<Backlog::Segment> left = tap_.take_segments();
  std::ranges::move(segments_, std::back_inserter(left));
  backlog_.give_back(left);
}

void RingCursor::copy() {
  if (broken_) tap_.give_up();
  tap_.pull();
  std::ranges::move(tap_.take_segments(), std::back_inserter(segments_));
  copied_ = tap_.copied();
  broken_ |= tap_.broken();
}

void RingCursor::copy(uint64_t round) {
  // Before the look at the head: a dead producer publishes nothing more.
  const bool is_dead = owner() == OwnerState::kDead;
  copy();
  const bool is_news = copied_ != noted_.end || is_dead != noted_.is_dead;
  if (!is_news) return;
  noted_ = {round, copied_, is_dead};
  rounds_.push_back(noted_);
}

void RingCursor::show_round(uint64_t round) {
  size_t shown = 0;
  for (; shown < rounds_.size() && rounds_[shown].round <= round; ++shown) {
    end_ = std::max(end_, rounds_[shown].end);
    dead_ |= rounds_[shown].is_dead;
  }
  if (shown != 0) rounds_.erase(rounds_.begin(), rounds_.begin() + static_cast<ptrdiff_t>(shown));
}

// Copies only if nothing is left of what was copied: that bounds what rounds have no room for.
void RingCursor::show_next() {
  if (drained()) {
    const std::scoped_lock lock(backlog_.mutex());
    copy();
  }
  end_ = copied_;
}

bool RingCursor::decode() {
  while (tail_ < end_ && !broken_) {
    const uint64_t segment_end = (tail_ / kSegmentWords + 1) * kSegmentWords;
    const auto available = static_cast<uint32_t>(std::min(segment_end, end_) - tail_);
    Record record;
    const ReadRecord kind =
        read_record(segment_of(tail_) + tail_ % kSegmentWords, available, record);
    switch (kind) {
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
      case ReadRecord::kSteering:
        order_ = std::max(order_, record.stamp);
        call_ = to_steering_call(record, thread_);
        call_words_ = record.words;
        return has_call_ = true;
      case ReadRecord::kFork:
        order_ = std::max(order_, record.stamp);
        call_ = to_fork(record, thread_);
        call_words_ = record.words;
        return has_call_ = true;
      case ReadRecord::kMapping: {
        schema::FrameNumber stack = 0;
        if (!find_mappings_stack(record, stack)) {
          broken_ = true;
          continue;
        }
        order_ = std::max(order_, record.stamp);
        call_ = to_mapping_call(record, thread_, stack);
        call_words_ = record.words;
        return has_call_ = true;
      }
      case ReadRecord::kRecord:
        if (record.old_address >= base::kAddressLimit || !find_stack(record.stack, call_.stack)) {
          broken_ = true;
          continue;
        }
        if (schema::op_info(record.op).kind == OpKind::kResize &&
            is_of_another_tape(record.begin_stamp)) {
          tail_ += record.words;
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
  if (peek() == nullptr || order_ > last_order || !call_.is_event()) return;
  batch.is_stamped = call_.stamp != 0;
  batch.ticks = batch.is_stamped ? 0 : call_.ticks;
  batch.events[0] = call_.event;
  batch.stacks[0] = call_.stack;
  batch.stamps[0] = order_;
  batch.positions[0] = tail_;
  pop();
  // Calls. decode() handles all other words.
  const uint64_t segment_end = (batch.positions[0] / kSegmentWords + 1) * kSegmentWords;
  const uint64_t end = broken_ ? tail_ : std::min(segment_end, end_);  // then segments_ is empty
  const uint64_t* const segment = tail_ < end ? segment_of(tail_) : nullptr;
  const bool is_stamped = batch.is_stamped;
  const uint32_t thread = thread_;
  uint32_t count = 1;
  uint64_t at = tail_;
  uint64_t order = order_;
  bool ends_by_order = false;
  while (at < end && count < most) {
    const uint64_t* const words = segment + at % kSegmentWords;
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
      if (shape.old_address_at != 0) {
        if (is_stamped && is_of_another_tape(load_word(words + 2))) break;
        event.freed_address = load_word(words + shape.old_address_at);
      }
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

// Where there is no stack, as for a call from before the ring, the caller is known.
bool RingCursor::find_mappings_stack(const Record& record, schema::FrameNumber& found) const {
  if (!find_stack(record.stack, found)) return false;
  const uint64_t caller = record.old_address >> kAddressShift;
  const bool is_address = caller >= schema::kStackEnds && caller < base::kAddressLimit;
  if (found == 0 && stacks_ != nullptr && is_address) {
    found = stacks_->find_or_add({0, caller, false});
  }
  return true;
}

void RingCursor::release() {
  std::vector<Backlog::Segment> used;
  if (broken_) {
    const std::scoped_lock lock(backlog_.mutex());
    tap_.give_up();  // before its memory goes
    std::ranges::move(segments_, std::back_inserter(used));
    segments_.clear();
  } else {
    for (; first_segment_ < tail_ / kSegmentWords; ++first_segment_) {
      used.push_back(std::move(segments_.front()));
      segments_.pop_front();
    }
  }
  if (used.empty()) return;
  backlog_.give_back(used);
  session_.board().progress.fetch_add(1, std::memory_order_relaxed);
}

bool RingCursor::trim_if_idle(uint64_t now_ns) {
  const std::scoped_lock lock(backlog_.mutex());
  return tap_.trim_if_idle(now_ns);
}

bool RingCursor::trim() {
  const std::scoped_lock lock(backlog_.mutex());
  return tap_.trim();
}

void RingCursor::free_ring() {
  backlog_.remove(tap_);
  recorder::free_ring(session_, index_);
}

}  // namespace heaptape::recorder
