#include "python/tables/live_blocks.h"

#include <algorithm>

namespace heaptape::python {

using base::AddressShadow;
using schema::Event;
using schema::OpKind;

const Block* LiveBlocks::note(const Event& event, const CallPlace& place) {
  switch (schema::op_info(event.op).kind) {
    case OpKind::kAllocate:
      allocate(event, place);
      return nullptr;
    case OpKind::kResize:
      if (schema::frees_by_resize(event)) return release(event.freed_address);
      resize(event, place);
      return nullptr;
    case OpKind::kRelease:
      break;
  }
  return event.freed_address == 0 ? nullptr : release(event.freed_address);
}

void LiveBlocks::allocate(const Event& event, const CallPlace& place) {
  if (event.address == 0) return;
  const uint32_t slot = take_slot();
  shadow_.set(event.address, slot);
  blocks_[slot] = {.birth = place.number,
                   .birth_ns = place.time_ns,
                   .first_size = event.size,
                   .alignment = event.alignment,
                   .thread = event.thread,
                   .stack = place.stack,
                   .op = event.op,
                   .size = event.size,
                   .address = event.address};
}

void LiveBlocks::resize(const Event& event, const CallPlace& place) {
  if (event.freed_address == 0) return allocate(event, place);
  if (event.address == 0) return;
  const uint32_t slot = shadow_.take(event.freed_address);
  if (slot == AddressShadow::kNone) return allocate(event, place);  // a block from before
  shadow_.set(event.address, slot);
  Block& block = blocks_[slot];
  ++block.resizes;
  block.size = event.size;
  block.address = event.address;
}

const Block* LiveBlocks::release(uint64_t address) {
  const uint32_t slot = shadow_.take(address);
  if (slot == AddressShadow::kNone) return nullptr;
  released_ = blocks_[slot];
  blocks_[slot].birth = 0;
  free_slots_.push_back(slot);
  return &released_;
}

uint32_t LiveBlocks::take_slot() {
  if (free_slots_.empty()) {
    blocks_.grow(blocks_.size() + 1);
    return static_cast<uint32_t>(blocks_.size() - 1);
  }
  const uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

std::vector<const Block*> LiveBlocks::live() const {
  std::vector<const Block*> live;
  blocks_.for_each([&live](const Block& block) {
    if (block.birth != 0) live.push_back(&block);
  });
  std::ranges::sort(live, {}, &Block::birth);
  return live;
}

}  // namespace heaptape::python
