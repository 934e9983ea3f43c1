#include "allocators/models/ptmalloc/arena.h"

namespace heaptape::allocators::ptmalloc {
namespace {

constexpr int kMostSorted = 10000;  // MAX_ITERS

}  // namespace

Arena::Arena(ProcessMemory& process, uint32_t index)
    : process_(process),
      chunks_(process.chunks),
      counts_(process.counts),
      index_(index),
      fast_(chunks_),
      bins_(chunks_, counts_, index) {}

Chunk Arena::allocate(uint64_t units, ThreadCache* cache) {
  if (units <= process_.tuning.fast_max_units) {
    const Chunk chunk = take_fast(static_cast<uint32_t>(units), cache);
    if (chunk != kNoChunk) return chunk;
  }
  if (units < kSmallEndUnits) {
    const Chunk chunk = take_small(static_cast<uint32_t>(units), cache);
    if (chunk != kNoChunk) return chunk;
  } else if (fast_.touched()) {
    consolidate();
  }
  for (;;) {
    Chunk chunk = sort_unsorted(units, cache);
    if (chunk == kNoChunk) chunk = take_fit(units);
    if (chunk == kNoChunk) chunk = split_top(units);
    if (chunk != kNoChunk) return chunk;
    if (!fast_.touched()) return allocate_from_system(units, cache);
    consolidate();
  }
}

// The rest of the bin goes to the thread while there is room, so its order is reversed.
Chunk Arena::take_fast(uint32_t units, ThreadCache* cache) {
  const Chunk chunk = fast_.pop(units);
  if (chunk == kNoChunk) return kNoChunk;
  ++counts_.fastbin_hits;
  while (cache != nullptr && cache->has_room(units)) {
    const Chunk other = fast_.pop(units);
    if (other == kNoChunk) break;
    cache->push(other, units);
  }
  return chunk;
}

Chunk Arena::take_small(uint32_t units, ThreadCache* cache) {
  const Chunk chunk = bins_.take_small(units);
  if (chunk == kNoChunk) return kNoChunk;
  ++counts_.smallbin_hits;
  chunks_.set_free_before(chunk + units, 0);
  while (cache != nullptr && cache->has_room(units)) {
    const Chunk other = bins_.take_small(units);
    if (other == kNoChunk) break;
    chunks_.set_free_before(other + units, 0);
    cache->push(other, units);
  }
  return chunk;
}

// Goes through the unsorted list, files its chunks, and returns one that fits exactly, or the front
// of the last remainder if that is all there is. A thread's cache is filled first.
Chunk Arena::sort_unsorted(uint64_t units, ThreadCache* cache) {
  const bool cacheable = cache != nullptr && units <= kCacheMaxUnits;
  bool cached = false;
  int sorted = 0;
  for (Chunk chunk; (chunk = bins_.oldest_unsorted()) != kNoChunk;) {
    ++counts_.unsorted_processed;
    const uint32_t has_units = chunks_.units(chunk);
    if (units < kSmallEndUnits && chunk == last_remainder_ && has_units > units + kMinUnits &&
        bins_.is_only_unsorted(chunk)) {
      bins_.unlink(chunk);
      last_remainder_ = carve(chunk, units);
      return chunk;
    }
    if (has_units == units) {
      bins_.unlink(chunk);
      chunks_.set_free_before(chunk + has_units, 0);
      if (!cacheable || !cache->has_room(has_units)) return chunk;
      cache->push(chunk, has_units);
      cached = true;
      continue;
    }
    bins_.file(chunk);
    if (++sorted >= kMostSorted) break;
  }
  return cached ? cache->pop(units) : kNoChunk;
}

// Best fit: the smallest chunk that is large enough. In the request's own bin, chunks may be too
// small if the bin is a large one; if it is a small one, it is empty by now.
Chunk Arena::take_fit(uint64_t units) {
  const bool small = units < kSmallEndUnits;
  if (!small) {
    const Chunk chunk = bins_.take_large(units);
    if (chunk != kNoChunk) {
      ++counts_.largebin_hits;
      carve(chunk, units);
      return chunk;
    }
  }
  const Chunk chunk = bins_.take_beyond(bin_of(units));
  if (chunk == kNoChunk) return kNoChunk;
  ++counts_.next_bin_hits;
  const Chunk rest = carve(chunk, units);
  if (small && rest != kNoChunk) last_remainder_ = rest;
  return chunk;
}

Chunk Arena::split_top(uint64_t units) {
  if (top_units_ < units + kMinUnits) return kNoChunk;
  const Chunk chunk = top_;
  chunks_.set_units(chunk, static_cast<uint32_t>(units));
  set_top(top_ + static_cast<uint32_t>(units), top_units_ - units);
  return chunk;
}

Chunk Arena::carve(Chunk chunk, uint64_t units) {
  const uint32_t has_units = chunks_.units(chunk);
  const Chunk end = chunk + has_units;
  if (has_units - units < kMinUnits) {
    chunks_.set_free_before(end, 0);
    return kNoChunk;
  }
  const Chunk rest = chunk + static_cast<uint32_t>(units);
  chunks_.set_units(chunk, static_cast<uint32_t>(units));
  chunks_.set_units(rest, end - rest);
  chunks_.set_free_before(rest, 0);
  chunks_.set_free_before(end, end - rest);
  bins_.push_unsorted(rest);
  return rest;
}

uint32_t Arena::join(Chunk chunk, uint32_t units) {
  const Chunk next = chunk + units;
  if (const uint32_t before = chunks_.free_before(chunk); before != 0) {
    chunk -= before;
    units += before;
    bins_.unlink(chunk);
  }
  if (next == top_) {
    set_top(chunk, uint64_t{units} + top_units_);
    return top_units_;
  }
  if (!chunks_.in_use(next)) {
    units += chunks_.units(next);
    bins_.unlink(next);
  }
  chunks_.set_units(chunk, units);
  chunks_.set_free_before(chunk + units, units);
  bins_.push_unsorted(chunk);
  return units;
}

// A large free suggests that top may have become large: glibc joins all small chunks to see how
// large it really is, and trims it.
void Arena::release_to_bins(Chunk chunk, uint32_t units) {
  if (join(chunk, units) < kConsolidateUnits) return;
  if (fast_.touched()) consolidate();
  if (is_main()) {
    if (top_bytes() >= process_.tuning.trim_threshold) trim_break(process_.tuning.top_pad);
  } else {
    trim_heaps();
  }
}

void Arena::consolidate() {
  ++counts_.consolidations;
  fast_.reset_touched();
  for (uint32_t bin = 0; bin < FastBins::kBins; ++bin) {
    for (Chunk chunk = fast_.take_chain(bin); chunk != kNoChunk;) {
      const Chunk next = chunks_.next(chunk);
      ++counts_.chunks_consolidated;
      join(chunk, chunks_.units(chunk));
      chunk = next;
    }
  }
}

}  // namespace heaptape::allocators::ptmalloc
