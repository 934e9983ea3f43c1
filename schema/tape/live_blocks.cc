#include "schema/tape/live_blocks.h"

#include <algorithm>
#include <iterator>

namespace heaptape::schema {

void LiveBlocks::add(const Event& event, FrameNumber stack, uint64_t number) {
  if (is_failed(event)) return;
  const uint32_t old =
      event.freed_address != 0 ? release(event.freed_address) : base::AddressShadow::kNone;
  if (event.address == 0) return;
  const bool is_resize = op_info(event.op).kind == OpKind::kResize;
  const bool keeps_birth =
      is_resize && resized_ == Resized::kKeepsItsBirth && old != base::AddressShadow::kNone;
  const LiveBlock before = keeps_birth ? blocks_[old] : LiveBlock{event, stack, number};
  release(event.address);  // its free is missing
  uint32_t place = static_cast<uint32_t>(blocks_.size());
  if (free_places_.empty()) {
    blocks_.emplace_back();
  } else {
    place = free_places_.back();
    free_places_.pop_back();
  }
  LiveBlock& block = blocks_[place];
  block = {event, before.stack, before.number};
  block.birth.thread = before.birth.thread;
  block.birth.freed_address = 0;
  if (is_resize) block.birth.op = Op::kMalloc;
  places_.set(event.address, place);
}

uint32_t LiveBlocks::release(uint64_t address) {
  const uint32_t place = places_.take(address);
  if (place == base::AddressShadow::kNone) return place;
  blocks_[place].birth.address = 0;
  free_places_.push_back(place);
  return place;
}

std::vector<LiveBlock> LiveBlocks::list() const {
  std::vector<LiveBlock> live;
  live.reserve(count());
  std::ranges::copy_if(blocks_, std::back_inserter(live),
                       [](const LiveBlock& block) { return block.birth.address != 0; });
  std::ranges::sort(live, {}, &LiveBlock::number);
  return live;
}

}  // namespace heaptape::schema
