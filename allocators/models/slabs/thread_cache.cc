#include "allocators/models/slabs/thread_cache.h"

#include <algorithm>

namespace heaptape::allocators::slabs {
namespace {

constexpr uint32_t kAllSlots = [] {
  uint32_t slots = 0;
  for (uint32_t size_class = 0; size_class < kCachedClasses; ++size_class)
    slots += cache_slots(size_class);
  return slots;
}();

}  // namespace

ThreadCache::ThreadCache(SharedState& shared, Arena& arena, CacheCounts& counts,
                         DecayTicker& ticker, const uint64_t& now_ns)
    : shared_(shared),
      arena_(arena),
      counts_(counts),
      ticker_(ticker),
      now_ns_(now_ns),
      slots_(kAllSlots) {
  uint64_t* blocks = slots_.data();
  for (uint32_t size_class = 0; size_class < kCachedClasses; ++size_class) {
    stacks_[size_class].blocks = blocks;
    stacks_[size_class].slots = cache_slots(size_class);
    blocks += cache_slots(size_class);
  }
}

uint64_t ThreadCache::memory_bytes() {
  return (kAllSlots + 2) * sizeof(uint64_t);
}

// The lowest block on top.
bool ThreadCache::fill(uint32_t size_class) {
  Stack& stack = stacks_[size_class];
  stack.count = arena_.slabs.take(size_class, stack.slots >> stack.fill_shift, stack.blocks);
  std::reverse(stack.blocks, stack.blocks + stack.count);
  stack.refilled = true;
  ++counts_.fills;
  ticker_.tick(arena_, now_ns_);
  return stack.count > 0;
}

// Gives back the blocks that were put in the longest ago, arena by arena, newest first. Slabs that
// become empty are released after all blocks.
void ThreadCache::flush(uint32_t size_class, uint32_t keep) {
  Stack& stack = stacks_[size_class];
  const uint32_t count = stack.count - keep;
  flushed_.assign(std::reverse_iterator(stack.blocks + count), std::reverse_iterator(stack.blocks));
  while (!flushed_.empty()) {
    Arena& arena = *shared_.index.at(flushed_.front())->arena;
    uint32_t deferred = 0;
    for (const uint64_t block : flushed_) {
      Extent& extent = *shared_.index.at(block);
      if (extent.arena == &arena) {
        give_back(size_class, arena, extent, block);
      } else {
        flushed_[deferred++] = block;
      }
    }
    ticker_.tick(arena, now_ns_, static_cast<uint32_t>(flushed_.size()) - deferred);
    flushed_.resize(deferred);
  }
  for (Extent* const slab : empty_slabs_) slab->arena->slabs.release_slab(*slab);
  empty_slabs_.clear();
  std::copy(stack.blocks + count, stack.blocks + stack.count, stack.blocks);
  stack.count = keep;
  stack.low_water = std::min(stack.low_water, keep);
  ++counts_.flushes;
}

void ThreadCache::give_back(uint32_t size_class, Arena& arena, Extent& extent, uint64_t block) {
  if (size_class >= kSmallClasses) {
    arena.pages.release(extent);
  } else if (arena.slabs.put_back(extent, block)) {
    empty_slabs_.push_back(&extent);
  }
}

void ThreadCache::flush_all() {
  for (uint32_t size_class = 0; size_class < kCachedClasses; ++size_class) {
    if (stacks_[size_class].count > 0) flush(size_class, 0);
  }
}

// One stack's turn. Blocks not taken since its last turn are more than the thread needs; a small
// class is then filled with half as much from now on, and with twice as much again if it runs empty
// between two turns.
void ThreadCache::collect() {
  Stack& stack = stacks_[turn_];
  const bool is_small = turn_ < kSmallClasses;
  if (stack.low_water > 0) {
    flush(turn_, stack.count - (stack.low_water - stack.low_water / 4));
    if (is_small && stack.slots >> (stack.fill_shift + 1) >= 1) ++stack.fill_shift;
  } else if (is_small && stack.refilled) {
    if (stack.fill_shift > 1) --stack.fill_shift;
    stack.refilled = false;
  }
  stack.low_water = stack.count;
  turn_ = turn_ + 1 == kCachedClasses ? 0 : turn_ + 1;
}

void ThreadCache::append_cached(std::vector<AddressRange>& ranges) const {
  for (uint32_t size_class = 0; size_class < kCachedClasses; ++size_class) {
    const Stack& stack = stacks_[size_class];
    for (uint32_t i = 0; i < stack.count; ++i) {
      ranges.push_back({stack.blocks[i], stack.blocks[i] + class_bytes(size_class)});
    }
  }
}

}  // namespace heaptape::allocators::slabs
