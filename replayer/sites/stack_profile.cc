#include "replayer/sites/stack_profile.h"

namespace heaptape::replayer {

using allocators::ReplayKind;
using allocators::ReplayOp;
using schema::Event;
using schema::FrameNumber;

StackTotals& StackTotals::operator+=(const StackTotals& other) {
  calls += other.calls;
  asked_bytes += other.asked_bytes;
  peak_bytes += other.peak_bytes;
  peak_count += other.peak_count;
  live_bytes += other.live_bytes;
  live_count += other.live_count;
  temporaries += other.temporaries;
  freed_by_others += other.freed_by_others;
  return *this;
}

void StackProfile::add(const schema::EventBatch& batch, uint64_t done,
                       std::span<const ReplayOp> ops) {
  for (size_t i = 0; i < ops.size(); ++i) {
    const ReplayOp& op = ops[i];
    if (op.kind == ReplayKind::kNothing || op.kind == ReplayKind::kFreeNull) continue;
    const Event& event = batch.events[i];
    const uint64_t number = done + i + 1;
    blocks_.grow(op.slot + size_t{1});
    Block& block = blocks_[op.slot];
    if (op.kind == ReplayKind::kFree) {
      release(event, number, block);
      continue;
    }
    if (op.kind == ReplayKind::kRealloc) {
      leave(block);
    } else {
      block.birth = number;
    }
    take(event, number, batch.stacks.empty() ? 0 : batch.stacks[i], block);
  }
}

// The size is that of the event: that of the op is what an allocator is asked in its place.
void StackProfile::take(const Event& event, uint64_t number, FrameNumber stack_number,
                        Block& block) {
  block.size = event.size;
  block.owner = event.thread;
  block.stack = index_of(stack_number);
  Stack& stack = stacks_[block.stack];
  save_peak(stack);
  ++stack.calls;
  stack.asked_bytes += event.size;
  ++stack.live_count;
  stack.live_bytes += event.size;
  live_bytes_ += event.size;
  if (live_bytes_ <= peak_bytes_) return;
  peak_bytes_ = live_bytes_;
  peak_at_ = number;
  ++peak_;
}

void StackProfile::release(const Event& event, uint64_t number, const Block& block) {
  Stack& stack = stacks_[block.stack];
  stack.temporaries += block.birth + 1 == number;
  stack.freed_by_others += block.owner != event.thread;
  if (!group_of_stack_.empty()) {
    lifetimes_.add(group_of_stack_[stack.number], number - block.birth - 1);
  }
  leave(block);
}

void StackProfile::leave(const Block& block) {
  Stack& stack = stacks_[block.stack];
  save_peak(stack);
  --stack.live_count;
  stack.live_bytes -= block.size;
  live_bytes_ -= block.size;
}

uint32_t StackProfile::index_of(FrameNumber number) {
  if (number >= index_of_stack_.size()) number = 0;
  uint32_t& index = index_of_stack_[number];
  if (index == 0) {
    stacks_.push_back({.number = number});
    index = static_cast<uint32_t>(stacks_.size());
  }
  return index - 1;
}

// Before its values change for the first time after a peak.
inline void StackProfile::save_peak(Stack& stack) const {
  if (stack.peak == peak_) return;
  stack.peak = peak_;
  stack.saved_bytes = stack.live_bytes;
  stack.saved_count = stack.live_count;
}

StackTotals StackProfile::totals_of(const Stack& stack) const {
  StackTotals totals{.calls = stack.calls,
                     .asked_bytes = stack.asked_bytes,
                     .live_bytes = stack.live_bytes,
                     .live_count = stack.live_count,
                     .temporaries = stack.temporaries,
                     .freed_by_others = stack.freed_by_others};
  const bool changed = stack.peak == peak_;
  totals.peak_bytes = changed ? stack.saved_bytes : stack.live_bytes;
  totals.peak_count = changed ? stack.saved_count : stack.live_count;
  return totals;
}

}  // namespace heaptape::replayer
