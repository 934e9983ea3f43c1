#include "schema/tape/live_blocks.h"

#include <algorithm>
#include <iterator>

namespace heaptape::schema {

void LiveBlocks::add(const Event& event, FrameNumber stack, uint64_t number) {
  if (is_failed(event)) return;
  if (event.freed_address != 0) release(event.freed_address);
  if (event.address == 0) return;
  release(event.address);  // its free is missing
  uint32_t place = static_cast<uint32_t>(blocks_.size());
  if (free_places_.empty()) {
    blocks_.emplace_back();
  } else {
    place = free_places_.back();
    free_places_.pop_back();
  }
  LiveBlock& block = blocks_[place];
  block = {event, stack, number};
  block.birth.freed_address = 0;
  if (op_info(event.op).kind == OpKind::kResize) block.birth.op = Op::kMalloc;
  places_.set(event.address, place);
}

void LiveBlocks::release(uint64_t address) {
  const uint32_t place = places_.take(address);
  if (place == base::AddressShadow::kNone) return;
  blocks_[place].number = 0;
  free_places_.push_back(place);
}

std::vector<LiveBlock> LiveBlocks::list() const {
  std::vector<LiveBlock> live;
  live.reserve(count());
  std::ranges::copy_if(blocks_, std::back_inserter(live),
                       [](const LiveBlock& block) { return block.number != 0; });
  std::ranges::sort(live, {}, &LiveBlock::number);
  return live;
}

}  // namespace heaptape::schema
