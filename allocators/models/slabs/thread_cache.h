// The blocks that a thread keeps to itself: a stack for each class up to 32 KiB. Follows tcache.c
// of jemalloc 5.3.0: an empty stack is filled with up to half its slots, a full one gives half of
// them back, and every 64 KiB of calls the next stack in turn gives back three quarters of the
// blocks it did not need since its last turn.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "allocators/models/slabs/arena.h"

namespace heaptape::allocators::slabs {

// When free pages decay: without a background thread, during some of the calls. Follows ticker.h of
// jemalloc 5.3.0. Counts a thread's calls that reach an arena, and lets the arena's pages decay at
// every 1,000th. jemalloc draws these distances from a geometric distribution with this mean.
class DecayTicker {
 public:
  static constexpr int32_t kTicksPerDecay = 1000;

  void tick(Arena& arena, uint64_t now_ns, uint32_t ticks = 1) {
    left_ -= static_cast<int32_t>(ticks);
    if (left_ >= 0) return;
    left_ = kTicksPerDecay;
    arena.pages.decay(now_ns);
  }

 private:
  int32_t left_ = kTicksPerDecay;
};

struct CacheCounts {
  uint64_t hits = 0;
  uint64_t fills = 0;
  uint64_t flushes = 0;
};

class ThreadCache {
 public:
  // All outlive it. `now_ns` is kept up to date by the owner.
  ThreadCache(SharedState& shared, Arena& arena, CacheCounts& counts, DecayTicker& ticker,
              const uint64_t& now_ns);

  // All slots, and one word before and after them.
  static uint64_t memory_bytes();

  // A small block; 0 if there is no room.
  uint64_t take_small(uint32_t size_class) {
    Stack& stack = stacks_[size_class];
    if (stack.count > 0) [[likely]] {
      ++counts_.hits;
    } else if (!fill(size_class)) {
      return 0;
    }
    return pop(stack);
  }
  // A large block of a cached class; 0 if none is cached.
  uint64_t take_large(uint32_t size_class) {
    Stack& stack = stacks_[size_class];
    if (stack.count == 0) return 0;
    ++counts_.hits;
    return pop(stack);
  }
  void put(uint32_t size_class, uint64_t block) {
    Stack& stack = stacks_[size_class];
    if (stack.count == stack.slots) [[unlikely]]
      flush(size_class, stack.slots / 2);
    stack.blocks[stack.count++] = block;
  }

  // Appends the blocks it keeps.
  void append_cached(std::vector<AddressRange>& ranges) const;

  // Gives everything back.
  void flush_all();

  // Every call of the program counts, with its usable bytes.
  void note_allocated(uint64_t bytes) { note(allocated_, bytes); }
  void note_freed(uint64_t bytes) { note(freed_, bytes); }

 private:
  struct Stack {
    uint64_t* blocks = nullptr;  // the last is handed out first
    uint32_t count = 0;
    uint32_t low_water = 0;  // the least count since the last turn
    uint32_t slots = 0;
    uint8_t fill_shift = 1;  // small classes: filled with slots >> fill_shift
    bool refilled = false;   // since the last turn
  };
  struct Meter {
    uint64_t bytes = 0;
    uint64_t next = kTurnBytes;
  };
  static constexpr uint64_t kTurnBytes = 65536;

  static uint64_t pop(Stack& stack) {
    --stack.count;
    if (stack.count < stack.low_water) stack.low_water = stack.count;
    return stack.blocks[stack.count];
  }
  void note(Meter& meter, uint64_t bytes) {
    meter.bytes += bytes;
    if (meter.bytes < meter.next) [[likely]]
      return;
    meter.next = meter.bytes + kTurnBytes;
    collect();
  }

  bool fill(uint32_t size_class);
  void flush(uint32_t size_class, uint32_t keep);
  void give_back(uint32_t size_class, Arena& arena, Extent& extent, uint64_t block);
  void collect();

  SharedState& shared_;
  Arena& arena_;
  CacheCounts& counts_;
  DecayTicker& ticker_;
  const uint64_t& now_ns_;
  std::vector<uint64_t> slots_;
  std::array<Stack, kCachedClasses> stacks_;
  Meter allocated_;
  Meter freed_;
  uint32_t turn_ = 0;                 // class
  std::vector<uint64_t> flushed_;     // in one flush, those not yet given back
  std::vector<Extent*> empty_slabs_;  // in one flush
};

}  // namespace heaptape::allocators::slabs
