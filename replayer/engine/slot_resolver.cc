#include "replayer/engine/slot_resolver.h"

#include <algorithm>
#include <array>
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

// What an op is in a replay, and how much it asks for there.
enum class Asks : uint8_t { kItsSize, kAtLeastOne, kWholeAlignments };
struct Plan {
  OpKind kind = OpKind::kRelease;
  ReplayKind replayed = ReplayKind::kMalloc;
  Asks asks = Asks::kItsSize;
};

constexpr Plan plan_of(Op op) {
  const OpKind kind = schema::op_info(op).kind;
  switch (op) {
    case Op::kCalloc:
      return {kind, ReplayKind::kCalloc};
    case Op::kPosixMemalign:
      return {kind, ReplayKind::kPosixMemalign};
    case Op::kMemalign:
      return {kind, ReplayKind::kMemalign};
    case Op::kValloc:
      return {kind, ReplayKind::kValloc};
    case Op::kPvalloc:
      return {kind, ReplayKind::kPvalloc};
    case Op::kAlignedAlloc:
      return {kind, ReplayKind::kAlignedAlloc};
    case Op::kNew:
    case Op::kNewArray:
    case Op::kNewNothrow:
    case Op::kNewArrayNothrow:
      return {kind, ReplayKind::kMalloc, Asks::kAtLeastOne};
    case Op::kNewAligned:
    case Op::kNewArrayAligned:
    case Op::kNewAlignedNothrow:
    case Op::kNewArrayAlignedNothrow:
      return {kind, ReplayKind::kAlignedAlloc, Asks::kWholeAlignments};
    default:
      return {kind};
  }
}

constexpr auto kPlans = [] {
  std::array<Plan, schema::kOpLimit> plans{};
  for (size_t op = 0; op < plans.size(); ++op) {
    if (schema::is_valid_op(static_cast<uint8_t>(op))) plans[op] = plan_of(static_cast<Op>(op));
  }
  return plans;
}();

ReplayOp allocation_op(const Event& event, const Plan& plan) {
  ReplayOp op{.kind = plan.replayed, .size = event.size};
  if (event.alignment != 0) [[unlikely]]
    op.log2 = alignment_log2(event.alignment);
  if (plan.asks == Asks::kAtLeastOne) {
    op.size = operator_new_size(event.size);
  } else if (plan.asks == Asks::kWholeAlignments) {
    op.size = aligned_new_size(event.size, uint64_t{1} << op.log2);
  }
  return op;
}

}  // namespace

base::Status SlotResolver::resolve(std::span<const Event> events, uint64_t first_event,
                                   ResolvedBatch& batch) {
  batch.first_event = first_event;
  batch.ops.resize(events.size());
  batch.recorded_addresses.resize(events.size());
  batch.live_bytes.resize(events.size());
  for (size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    ReplayOp op = resolve_one(event, first_event + i + 1);
    if (first_event + i + 1 == keep_live_after_) [[unlikely]]
      keep_live();
    op.thread = static_cast<uint16_t>(event.thread);
    batch.ops[i] = op;
    batch.recorded_addresses[i] = event.address;
    batch.live_bytes[i] = live_.values().live_bytes;
  }
  if (blocks_.size() > slot_limit_) {
    return base::Error::target("the tape has more than " + std::to_string(slot_limit_) +
                               " blocks alive at once, more than a replay can tell apart; replay "
                               "its beginning only (--to)");
  }
  batch.slot_limit = static_cast<uint32_t>(blocks_.size());
  batch.live = live_.values();
  return {};
}

inline ReplayOp SlotResolver::resolve_one(const Event& event, uint64_t number) {
  switch (kPlans[static_cast<uint8_t>(event.op)].kind) {
    case OpKind::kAllocate:
      return allocate(event, number);
    case OpKind::kResize:
      return resize(event, number);
    case OpKind::kRelease:
      break;
  }
  if (event.freed_address != 0) [[likely]]
    return release(event, number);
  return {.kind = ReplayKind::kFreeNull};
}

// A block that is handed out while it is alive loses its address to the new one.
inline ReplayOp SlotResolver::allocate(const Event& event, uint64_t number) {
  if (event.address == 0) [[unlikely]] {
    ++skipped_.failed_calls;
    return {};
  }
  ReplayOp op = allocation_op(event, kPlans[static_cast<uint8_t>(event.op)]);
  op.slot = take_slot();
  shadow_.set(event.address, op.slot);
  blocks_[op.slot] = {.size = event.size, .birth = number, .owner = event.thread};
  live_.on_allocate(number, op.slot, event.size);
  program_.on_allocate(event.size);
  return op;
}

ReplayOp SlotResolver::resize(const Event& event, uint64_t number) {
  if (event.freed_address == 0) return allocate(event, number);
  if (schema::frees_by_resize(event)) return release(event, number);
  if (event.address == 0) {
    ++skipped_.failed_calls;
    return {};
  }
  const uint32_t slot = shadow_.take(event.freed_address);
  if (slot == base::AddressShadow::kNone) {  // a block from before
    ++skipped_.unknown_resizes;
    return allocate(event, number);
  }
  Block& block = blocks_[slot];
  const uint64_t old_size = block.size;
  block.chain = program_.on_resize(block.birth, block.owner, block.chain,
                                   {old_size, event.size, event.address != event.freed_address});
  block.size = event.size;
  block.owner = event.thread;
  shadow_.set(event.address, slot);
  live_.on_resize(number, old_size, event.size);
  // A resize to nothing that kept its block: glibc, asked for 0 bytes, would free it.
  return {.kind = ReplayKind::kRealloc,
          .log2 = allocators::growth_log2(old_size, event.size),
          .slot = slot,
          .size = std::max<uint64_t>(event.size, 1)};
}

inline ReplayOp SlotResolver::release(const Event& event, uint64_t number) {
  const uint32_t slot = shadow_.take(event.freed_address);
  if (slot == base::AddressShadow::kNone) [[unlikely]] {
    ++skipped_.unknown_frees;
    return {};
  }
  Block& block = blocks_[slot];
  ++releases_;
  foreign_releases_ += block.owner != event.thread;
  live_.on_release(number, slot, block.size);
  program_.on_release(number, block.birth, block.chain, block.size);
  block.birth = 0;
  free_slots_.push_back(slot);
  return {.kind = ReplayKind::kFree, .slot = slot, .size = block.size};
}

SlotResolver::Slots SlotResolver::slots_of(std::span<const Event> blocks) const {
  Slots slots{{}, free_slots_, static_cast<uint32_t>(blocks_.size())};
  for (const Event& block : blocks) slots.of_blocks.push_back(shadow_.find(block.address));
  return slots;
}

void SlotResolver::begin_with(const Slots& slots) {
  blocks_.grow(slots.limit);
  free_slots_ = slots.free;
  free_slots_.insert(free_slots_.end(), slots.of_blocks.rbegin(), slots.of_blocks.rend());
}

void SlotResolver::begin_range(uint64_t before) {
  skipped_ = {};
  releases_ = foreign_releases_ = 0;
  live_.begin_range(before);
  program_ = ProgramProfile(run_calls_ - before, before);
  for (uint32_t slot = 0; slot < blocks_.size(); ++slot) {
    Block& block = blocks_[slot];
    block.chain = GrowthChains::kNone;
    if (block.birth != 0) program_.hold(block.size);
  }
  if (keep_live_after_ == before) keep_live();
}

void SlotResolver::keep_live() {
  program_.keep_sizes();
  program_.keep_peak(cohorts());
}

void SlotResolver::finish() {
  if (keep_live_after_ != 0) program_.keep_end(cohorts());
  program_.finish();
}

Cohorts SlotResolver::cohorts() const {
  Cohorts cohorts(run_calls_);
  blocks_.for_each([&cohorts](const Block& block) {
    if (block.birth != 0) cohorts.add(block.size, block.birth, block.size);
  });
  return cohorts;
}

inline uint32_t SlotResolver::take_slot() {
  if (free_slots_.empty()) {
    blocks_.grow(blocks_.size() + 1);
    return static_cast<uint32_t>(blocks_.size() - 1);
  }
  const uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

}  // namespace heaptape::replayer
