#include "replayer/engine/slot_resolver.h"

#include <algorithm>
#include <bit>
#include <string>

namespace heaptape::replayer {
namespace {

using allocators::ReplayKind;
using allocators::ReplayOp;
using schema::Event;
using schema::Op;
using schema::OpKind;

// What libstdc++'s operators ask of malloc and aligned_alloc for `size` bytes.
uint64_t operator_new_size(uint64_t size) {
  return std::max<uint64_t>(size, 1);
}
uint64_t aligned_new_size(uint64_t size, uint64_t alignment) {
  const uint64_t greatest = ~(alignment - 1);  // more: no allocator has that, and the sum overflows
  return size > greatest ? greatest : (operator_new_size(size) + alignment - 1) & greatest;
}

// memalign takes any alignment and rounds it up to a power of two. No call with more than the
// address space can have worked.
uint8_t alignment_log2(uint64_t alignment) {
  return static_cast<uint8_t>(
      std::min<int>(alignment <= 1 ? 0 : std::bit_width(alignment - 1), 47));
}

ReplayKind allocation_kind(Op op) {
  switch (op) {
    case Op::kCalloc:
      return ReplayKind::kCalloc;
    case Op::kPosixMemalign:
      return ReplayKind::kPosixMemalign;
    case Op::kMemalign:
      return ReplayKind::kMemalign;
    case Op::kValloc:
      return ReplayKind::kValloc;
    case Op::kPvalloc:
      return ReplayKind::kPvalloc;
    case Op::kAlignedAlloc:
    case Op::kNewAligned:
    case Op::kNewArrayAligned:
    case Op::kNewAlignedNothrow:
    case Op::kNewArrayAlignedNothrow:
      return ReplayKind::kAlignedAlloc;
    default:
      return ReplayKind::kMalloc;
  }
}

uint64_t allocation_size(const Event& event, uint8_t alignment_log2) {
  switch (event.op) {
    case Op::kNew:
    case Op::kNewArray:
    case Op::kNewNothrow:
    case Op::kNewArrayNothrow:
      return operator_new_size(event.size);
    case Op::kNewAligned:
    case Op::kNewArrayAligned:
    case Op::kNewAlignedNothrow:
    case Op::kNewArrayAlignedNothrow:
      return aligned_new_size(event.size, uint64_t{1} << alignment_log2);
    default:
      return event.size;
  }
}

ReplayOp allocation_op(const Event& event) {
  const uint8_t log2 = alignment_log2(event.alignment);
  return {.kind = allocation_kind(event.op),
          .alignment_log2 = log2,
          .size = allocation_size(event, log2)};
}

}  // namespace

base::Status SlotResolver::resolve(std::span<const Event> events, uint64_t first_event,
                                   ResolvedBatch& batch) {
  batch.first_event = first_event;
  batch.ops.resize(events.size());
  batch.recorded_addresses.resize(events.size());
  batch.live_bytes.resize(events.size());
  for (size_t i = 0; i < events.size(); ++i) {
    ReplayOp op = resolve_one(events[i], first_event + i + 1);
    op.thread = static_cast<uint16_t>(events[i].thread);
    batch.ops[i] = op;
    batch.recorded_addresses[i] = events[i].address;
    batch.live_bytes[i] = live_.values().live_bytes;
  }
  if (blocks_.size() > slot_limit_) {
    return base::Error::target("the tape has more than " + std::to_string(slot_limit_) +
                               " blocks alive at once, more than a replay can tell apart; replay "
                               "its beginning only (--until)");
  }
  batch.slot_limit = static_cast<uint32_t>(blocks_.size());
  batch.live = live_.values();
  return {};
}

ReplayOp SlotResolver::resolve_one(const Event& event, uint64_t number) {
  switch (schema::op_info(event.op).kind) {
    case OpKind::kAllocate:
      return allocate(event, number);
    case OpKind::kResize:
      return resize(event, number);
    case OpKind::kRelease:
      break;
  }
  if (event.freed_address != 0) return release(event, number);
  return {.kind = ReplayKind::kFreeNull};
}

ReplayOp SlotResolver::allocate(const Event& event, uint64_t number) {
  if (event.address == 0) {
    ++skipped_.failed_calls;
    return {};
  }
  ReplayOp op = allocation_op(event);
  op.slot = take_slot();
  bind(op.slot, event);
  live_.on_allocate(number, op.slot, event.size);
  program_.on_allocate(number, op.slot);
  return op;
}

ReplayOp SlotResolver::resize(const Event& event, uint64_t number) {
  if (event.freed_address == 0) return allocate(event, number);
  if (schema::frees_by_resize(event)) return release(event, number);
  if (event.address == 0) {
    ++skipped_.failed_calls;
    return {};
  }
  const uint32_t slot = shadow_.find(event.freed_address);
  if (slot == AddressShadow::kNone) return allocate(event, number);  // a block from before
  const uint64_t old_size = blocks_[slot].size;
  program_.on_resize(slot, owners_[slot],
                     {old_size, event.size, event.address != event.freed_address});
  shadow_.clear(event.freed_address);
  bind(slot, event);
  live_.on_resize(number, old_size, event.size);
  // A resize to nothing that kept its block: glibc, asked for 0 bytes, would free it.
  return {.kind = ReplayKind::kRealloc, .slot = slot, .size = std::max<uint64_t>(event.size, 1)};
}

ReplayOp SlotResolver::release(const Event& event, uint64_t number) {
  const uint32_t slot = shadow_.find(event.freed_address);
  if (slot == AddressShadow::kNone) {
    ++skipped_.unknown_frees;
    return {};
  }
  shadow_.clear(event.freed_address);
  ++releases_;
  if (owners_[slot] != event.thread) ++foreign_releases_;
  const uint64_t size = blocks_[slot].size;
  live_.on_release(number, slot, size);
  program_.on_release(number, slot);
  blocks_[slot] = {};
  free_slots_.push_back(slot);
  return {.kind = ReplayKind::kFree, .slot = slot, .size = size};
}

uint32_t SlotResolver::take_slot() {
  if (free_slots_.empty()) {
    blocks_.emplace_back();
    owners_.emplace_back();
    return static_cast<uint32_t>(blocks_.size() - 1);
  }
  const uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

void SlotResolver::bind(uint32_t slot, const Event& event) {
  // Invariant: blocks_ and shadow_ agree, so the block whose free is missing has no address.
  const uint32_t lost = shadow_.find(event.address);
  if (lost != AddressShadow::kNone) [[unlikely]]
    blocks_[lost].address = 0;
  blocks_[slot] = {event.address, event.size};
  owners_[slot] = event.thread;
  shadow_.set(event.address, slot);
}

}  // namespace heaptape::replayer
