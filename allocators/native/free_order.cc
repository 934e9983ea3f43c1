#include "allocators/native/free_order.h"

namespace heaptape::allocators {

void FreeOrder::prepare(std::span<ReplayOp> ops, uint32_t* waits) {
  seen_.clear();
  for (auto& [thread, slots] : freed_slots_) {
    free_slots_.insert(free_slots_.end(), slots.begin(), slots.end());
  }
  freed_slots_.clear();
  for (size_t i = 0; i < ops.size(); ++i) {
    ReplayOp& op = ops[i];
    waits[i] = 0;
    if (op.kind == ReplayKind::kNothing || op.kind == ReplayKind::kFreeNull) {
      op.slot = 0;
      continue;
    }
    if (op.slot >= blocks_.size()) blocks_.resize(op.slot * 2 + 1);
    Block& block = blocks_[op.slot];
    if (block.slot == 0) {
      block.slot = take_slot(op.thread) + 1;
    } else {
      waits[i] = wait_for(block, op.thread);
    }
    op.slot = block.slot - 1;
    block.thread = op.thread;
    block.used = before_ + i + 1;
    if (op.kind != ReplayKind::kFree) continue;
    freed_slots_[op.thread].push_back(op.slot);
    block.slot = 0;
  }
  before_ += ops.size();
}

uint32_t FreeOrder::wait_for(const Block& block, uint16_t thread) {
  if (block.thread == thread || block.used <= before_) return 0;
  const auto op = static_cast<uint32_t>(block.used - before_);
  uint32_t& seen = seen_[uint32_t{thread} << 16 | block.thread];
  if (seen >= op) return 0;
  seen = op;
  return op;
}

// A slot that this thread itself gave back, or that was given back earlier.
uint32_t FreeOrder::take_slot(uint16_t thread) {
  std::vector<uint32_t>* slots = &free_slots_;
  if (const auto own = freed_slots_.find(thread); own != freed_slots_.end() && !own->second.empty())
    slots = &own->second;
  if (slots->empty()) return slot_limit_++;
  const uint32_t slot = slots->back();
  slots->pop_back();
  return slot;
}

}  // namespace heaptape::allocators
