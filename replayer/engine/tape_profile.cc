#include "replayer/engine/tape_profile.h"

#include <algorithm>

namespace heaptape::replayer {

using allocators::ReplayKind;
using allocators::ReplayOp;
using schema::Event;

void TapeProfile::add(const schema::EventBatch& batch, uint64_t done,
                      std::span<const ReplayOp> ops) {
  times_.begin(done, batch.events.size(), batch.times, batch.next_time);
  for (size_t i = 0; i < ops.size(); ++i) add_one(batch.events[i], done + i + 1, ops[i]);
}

void TapeProfile::add_one(const Event& event, uint64_t number, const ReplayOp& op) {
  threads_.on_call(event.thread);
  if (op.kind == ReplayKind::kNothing || op.kind == ReplayKind::kFreeNull) return;
  blocks_.grow(op.slot + size_t{1});
  Block& block = blocks_[op.slot];
  switch (op.kind) {
    case ReplayKind::kFree:
      return release(event, number, block);
    case ReplayKind::kRealloc:
      sizes_.remove(block.size);
      threads_.on_leave(block.owner, block.size);
      return take(event, block);
    default:
      block.birth_ns = times_.time_of(number);
      return take(event, block);
  }
}

// The size is that of the event: that of the op is what an allocator is asked in its place.
void TapeProfile::take(const Event& event, Block& block) {
  block.size = event.size;
  block.owner = event.thread;
  sizes_.add(event.size);
  threads_.on_take(event.thread, event.size);
}

void TapeProfile::release(const Event& event, uint64_t number, const Block& block) {
  const uint64_t now_ns = std::max(times_.time_of(number), block.birth_ns);  // where it is rounded
  lifetimes_ns_.add(now_ns - block.birth_ns);
  sizes_.remove(block.size);
  threads_.on_free(block.owner, event.thread, block.size);
}

}  // namespace heaptape::replayer
