// The arenas of a process. Follows arena.c and arena_choose_hard() of jemalloc 5.3.0.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "allocators/models/slabs/arena.h"

namespace heaptape::allocators::slabs {

// Free pages of all arenas.
struct FreePages {
  uint64_t dirty = 0;
  uint64_t muzzy = 0;
  uint64_t retained = 0;
};

class Arenas {
 public:
  // `count` arenas for threads. `shared` outlives it.
  Arenas(SharedState& shared, uint64_t count, const ExtentOptions& options);

  // An arena is made when it is first asked for. Threads take the one that has the fewest, so they
  // are dealt out in turn.
  Arena& first() { return numbered(0); }
  Arena& of_thread(uint32_t thread) { return numbered(thread % count_); }
  // For requests of oversize_bytes and more. It purges at once, unless nothing is ever purged: its
  // calls are too few for decay to be on time.
  Arena& huge();

  uint64_t made() const { return arenas_.size(); }
  FreePages free_pages() const;
  uint64_t metadata_bytes() const;
  // Not in order.
  void append_absent(std::vector<AddressRange>& ranges) const;

 private:
  Arena& numbered(uint64_t number);
  Arena& make(const ExtentOptions& options);

  SharedState& shared_;
  uint64_t count_;
  ExtentOptions options_;
  std::vector<Arena*> by_number_;  // null: not made yet
  Arena* huge_ = nullptr;
  std::vector<std::unique_ptr<MetadataBlocks>> metadata_;  // of arenas other than the first
  std::vector<std::unique_ptr<Arena>> arenas_;             // as they were made
};

// Counts the calls of a thread that reach an arena, and lets its pages decay at some of them: there
// is no background thread. jemalloc draws the distances between these from a geometric distribution
// of this mean.
class DecayTicker {
 public:
  static constexpr int32_t kTicksPerDecay = 1000;

  void tick(Arena& arena, uint64_t now_ns, uint32_t ticks = 1) {
    left_ -= static_cast<int32_t>(ticks);
    if (left_ >= 0) return;
    left_ = kTicksPerDecay;
    arena.extents.decay(now_ns);
  }

 private:
  int32_t left_ = kTicksPerDecay;
};

}  // namespace heaptape::allocators::slabs
