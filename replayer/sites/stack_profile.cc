#include "replayer/sites/stack_profile.h"

#include <algorithm>
#include <cmath>

#include "replayer/metrics/growth_chains.h"

namespace heaptape::replayer {

using allocators::ReplayKind;
using allocators::ReplayOp;
using schema::Event;
using schema::FrameNumber;

namespace {

constexpr uint64_t StackTotals::* kStackTotals[] = {
    &StackTotals::calls,       &StackTotals::asked_bytes,     &StackTotals::peak_bytes,
    &StackTotals::peak_count,  &StackTotals::live_bytes,      &StackTotals::live_count,
    &StackTotals::temporaries, &StackTotals::freed_by_others, &StackTotals::moved_bytes,
    &StackTotals::mapped_bytes};
constexpr double StackVariances::* kVariances[] = {
    &StackVariances::calls, &StackVariances::asked_bytes, &StackVariances::peak_bytes,
    &StackVariances::live_bytes};

}  // namespace

StackTotals& StackTotals::operator+=(const StackTotals& other) {
  for (uint64_t StackTotals::* value : kStackTotals) this->*value += other.*value;
  for (double StackVariances::* value : kVariances) variances.*value += other.variances.*value;
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
    uint64_t moved_bytes = 0;
    if (op.kind == ReplayKind::kRealloc) {
      leave(block);
      moved_bytes =
          Resize{block.size, event.size, event.address != event.freed_address}.copied_bytes();
    } else {
      block.birth = number;
    }
    take(event, number, batch.stacks.empty() ? 0 : batch.stacks[i], block);
    if (moved_bytes == 0) continue;
    for_each_owner(
        block, [&](Stack& stack) { stack.moved_bytes += weighed(stack, event.size, moved_bytes); });
  }
  for (const schema::MappingCall& call : batch.mapped) {
    if (call.event <= done + ops.size()) add_mapped(call);
  }
}

void StackProfile::begin_range(uint64_t before) {
  for (Stack& stack : stacks_) {
    stack = {
        .number = stack.number, .live_bytes = stack.live_bytes, .live_count = stack.live_count};
  }
  for (Spread& spread : spreads_) spread = {.live_bytes = spread.live_bytes};
  sampled_calls_ = 0;
  lifetimes_ = {};
  peak_bytes_ = live_bytes_;
  peak_at_ = before;
  peak_ = 1;
}

void StackProfile::add_mapped(const schema::MappingCall& call) {
  const bool maps = call.op == schema::MappingOp::kMap || call.op == schema::MappingOp::kGrowBreak;
  if (!maps) return;
  const uint32_t index = index_of(call.stack);
  stacks_[index].mapped_bytes += call.range.bytes();
  if (has_estimates(stacks_[index])) stacks_[index_of(0)].mapped_bytes += call.range.bytes();
}

// Uses the size of the event, because the size of the op is what a replay asks its allocator for.
void StackProfile::take(const Event& event, uint64_t number, FrameNumber stack_number,
                        Block& block) {
  block.size = event.size;
  block.owner = event.thread;
  block.stack = index_of(stack_number);
  sampled_calls_ += stacks_[block.stack].number != 0;
  for_each_owner(block, [&](Stack& stack) {
    const Share share = share_of(stack, event.size);
    save_peak(stack);
    stack.calls += share.count;
    stack.asked_bytes += share.bytes;
    stack.live_count += share.count;
    stack.live_bytes += share.bytes;
    if (!has_estimates(stack)) return;
    Spread& spread = spread_of(stack);
    const double variance = weight_.variance_of(event.size);
    const auto bytes = static_cast<double>(event.size);
    spread.calls += variance;
    spread.asked_bytes += variance * bytes * bytes;
    spread.live_bytes += live_spread_of(event.size);
  });
  live_bytes_ += event.size;
  if (live_bytes_ <= peak_bytes_) return;
  peak_bytes_ = live_bytes_;
  peak_at_ = number;
  ++peak_;
}

void StackProfile::release(const Event& event, uint64_t number, const Block& block) {
  const bool is_temporary = block.birth + 1 == number;
  const bool is_by_other = block.owner != event.thread;
  for_each_owner(block, [&](Stack& stack) {
    const Share share = share_of(stack, block.size);
    if (is_temporary) stack.temporaries += share.count;
    if (is_by_other) stack.freed_by_others += share.count;
    if (group_of_stack_.empty() || is_whole_tape(stack)) return;
    lifetimes_.add(group_of_stack_[stack.number], number - block.birth - 1, share.count);
  });
  leave(block);
}

void StackProfile::leave(const Block& block) {
  for_each_owner(block, [&](Stack& stack) {
    const Share share = share_of(stack, block.size);
    save_peak(stack);
    stack.live_count -= share.count;
    stack.live_bytes -= share.bytes;
    if (has_estimates(stack)) spread_of(stack).live_bytes -= live_spread_of(block.size);
  });
  live_bytes_ -= block.size;
}

// `amount`, which a call for `size` bytes adds to a stack, in the units of the stack.
inline uint64_t StackProfile::weighed(const Stack& stack, uint64_t size, uint64_t amount) const {
  if (!has_estimates(stack)) [[likely]]
    return amount;
  constexpr double kMost = 1e18;  // only an invalid tape has more
  const double units = weight_.of(size) * (1 << kEstimateShift);
  return static_cast<uint64_t>(std::min(units * static_cast<double>(amount), kMost));
}

inline StackProfile::Share StackProfile::share_of(const Stack& stack, uint64_t size) const {
  return {weighed(stack, size, 1), weighed(stack, size, size)};
}

uint32_t StackProfile::index_of(FrameNumber number) {
  if (number >= index_of_stack_.size()) number = 0;
  uint32_t& index = index_of_stack_[number];
  if (index == 0) {
    stacks_.push_back({.number = number});
    if (weight_.is_sampled()) spreads_.emplace_back();
    index = static_cast<uint32_t>(stacks_.size());
  }
  return index - 1;
}

// Call it before the stack's values first change after a peak.
inline void StackProfile::save_peak(Stack& stack) {
  if (stack.peak == peak_) return;
  if (has_estimates(stack)) spread_of(stack).saved_bytes = spread_of(stack).live_bytes;
  stack.peak = peak_;
  stack.saved_bytes = stack.live_bytes;
  stack.saved_count = stack.live_count;
}

inline StackProfile::Spread& StackProfile::spread_of(const Stack& stack) {
  return spreads_[static_cast<size_t>(&stack - stacks_.data())];
}

double StackProfile::spread_unit() const {
  constexpr double kUnits = 1 << 20;
  return weight_.most_variance() / kUnits;
}

uint64_t StackProfile::live_spread_of(uint64_t size) const {
  const auto bytes = static_cast<double>(size);
  const double most = weight_.most_variance();
  const double variance = std::min(weight_.variance_of(size) * bytes * bytes, most);
  return most == 0 ? 0 : static_cast<uint64_t>(std::llround(variance / spread_unit()));
}

StackVariances StackProfile::variances_of(const Stack& stack) const {
  const Spread& spread = spreads_[static_cast<size_t>(&stack - stacks_.data())];
  const uint64_t at_peak = stack.peak == peak_ ? spread.saved_bytes : spread.live_bytes;
  return {spread.calls, spread.asked_bytes, static_cast<double>(at_peak) * spread_unit(),
          static_cast<double>(spread.live_bytes) * spread_unit()};
}

StackTotals StackProfile::totals_of(const Stack& stack) const {
  StackTotals totals{.calls = stack.calls,
                     .asked_bytes = stack.asked_bytes,
                     .live_bytes = stack.live_bytes,
                     .live_count = stack.live_count,
                     .temporaries = stack.temporaries,
                     .freed_by_others = stack.freed_by_others,
                     .moved_bytes = stack.moved_bytes};
  const bool changed = stack.peak == peak_;
  totals.peak_bytes = changed ? stack.saved_bytes : stack.live_bytes;
  totals.peak_count = changed ? stack.saved_count : stack.live_count;
  if (has_estimates(stack)) {
    for (uint64_t StackTotals::* value : kStackTotals) totals.*value = rounded(totals.*value);
    totals.variances = variances_of(stack);
  }
  totals.mapped_bytes = stack.mapped_bytes;
  return totals;
}

StackTotals StackProfile::whole_tape() const {
  const auto whole = std::ranges::find(stacks_, FrameNumber{0}, &Stack::number);
  return whole == stacks_.end() ? StackTotals() : totals_of(*whole);
}

std::vector<StackCount> StackProfile::by_stack() const {
  std::vector<StackCount> counts;
  for_each([&counts](schema::FrameNumber stack, const StackTotals& totals) {
    counts.push_back({stack, totals});
  });
  return counts;
}

}  // namespace heaptape::replayer
