#include "allocators/models/ptmalloc/arena.h"

namespace heaptape::allocators::ptmalloc {

Chunk Arena::resize(Chunk chunk, uint64_t units, ThreadCache* cache) {
  uint32_t has_units = chunks_.units(chunk);
  if (has_units >= units) {
    ++counts_.realloc_in_place_shrink;
    cut_tail(chunk, has_units, units, cache);
    return chunk;
  }
  const Chunk next = chunk + has_units;
  if (next == top_) {
    const uint64_t sum = uint64_t{has_units} + top_units_;
    if (sum < units + kMinUnits) return move(chunk, units, cache);
    ++counts_.realloc_in_place_top;
    chunks_.set_units(chunk, static_cast<uint32_t>(units));
    set_top(chunk + static_cast<uint32_t>(units), sum - units);
    return chunk;
  }
  if (chunks_.in_use(next) || uint64_t{has_units} + chunks_.units(next) < units) {
    return move(chunk, units, cache);
  }
  ++counts_.realloc_in_place_next;
  has_units += chunks_.units(next);
  bins_.unlink(next);
  cut_tail(chunk, has_units, units, cache);
  return chunk;
}

// The new chunk may be the one after the old one: the request may have grown top, or joined chunks
// from the fastbins.
Chunk Arena::move(Chunk chunk, uint64_t units, ThreadCache* cache) {
  const uint32_t has_units = chunks_.units(chunk);
  const Chunk moved = allocate(units, cache);
  if (moved == kNoChunk) return kNoChunk;
  if (moved == chunk + has_units) {
    ++counts_.realloc_in_place_next;
    cut_tail(chunk, has_units + chunks_.units(moved), units, cache);
    return chunk;
  }
  counts_.bytes_copied += usable_bytes(has_units);
  release(chunk, cache);
  return moved;
}

void Arena::cut_tail(Chunk chunk, uint32_t has_units, uint64_t units, ThreadCache* cache) {
  const Chunk end = chunk + has_units;
  chunks_.set_free_before(end, 0);
  if (has_units - units < kMinUnits) {
    chunks_.set_units(chunk, has_units);
    return;
  }
  const Chunk rest = chunk + static_cast<uint32_t>(units);
  chunks_.set_units(chunk, static_cast<uint32_t>(units));
  chunks_.set_units(rest, end - rest);
  chunks_.set_free_before(rest, 0);
  release(rest, cache);
}

// Takes enough for an aligned chunk wherever it lies, and frees the parts before and after it. The
// part before must be a chunk of its own.
Chunk Arena::allocate_aligned(uint64_t units, uint64_t alignment, ThreadCache* cache) {
  const Chunk written = highest_top_;
  const Chunk whole = allocate(units_for(to_bytes(units) + alignment + kMinBytes), cache);
  if (whole == kNoChunk) return kNoChunk;
  if (whole == kMappedChunk) {
    process_.mapped.align_latest(alignment, to_bytes(units));
    return kMappedChunk;
  }
  Chunk chunk = whole;
  uint32_t has_units = chunks_.units(chunk);
  const Chunk end = whole + has_units;
  // No chunk or header was ever behind this.
  const Chunk fresh = end == top_ ? std::max(written, whole) : end;
  const uint64_t block = block_of(chunk) + (is_main() ? process_.break_phase : 0);
  if (block % alignment != 0) {
    uint64_t lead_bytes = alignment - block % alignment;
    if (lead_bytes < kMinBytes) lead_bytes += alignment;
    const auto lead_units = static_cast<uint32_t>(lead_bytes >> kUnitLog2);
    chunk += lead_units;
    has_units -= lead_units;
    chunks_.set_units(chunk, has_units);
    chunks_.set_free_before(chunk, 0);
    chunks_.set_units(whole, lead_units);
    release(whole, cache);
    note_unwritten(fresh, chunk);
  }
  if (has_units > units + kMinUnits) {
    cut_tail(chunk, has_units, units, cache);
    note_unwritten(std::max(fresh, chunk + static_cast<uint32_t>(units)), end);
  }
  return chunk;
}

}  // namespace heaptape::allocators::ptmalloc
