#include "allocators/models/ptmalloc/chunk_bins.h"

#include <bit>

namespace heaptape::allocators::ptmalloc {

ChunkBins::ChunkBins(ChunkMemory& memory, Counts& counts, uint32_t arena)
    : memory_(memory), counts_(counts), first_head_(arena * kArenaHeads) {
  for (uint32_t bin = 0; bin < kBins; ++bin) {
    memory_.next(head(bin)) = memory_.previous(head(bin)) = head(bin);
  }
}

// The next chunk takes over if it has the same size: it is the one without a place in the list of
// sizes. In the head of a bin, that cell is the first link of the next head, never kNoChunk.
void ChunkBins::unlink_size(Chunk chunk, Chunk next) {
  const Chunk smaller = memory_.smaller(chunk);
  const Chunk larger = memory_.larger(chunk);
  if (memory_.smaller(next) != kNoChunk) {
    memory_.larger(smaller) = larger;
    memory_.smaller(larger) = smaller;
  } else if (smaller == chunk) {
    memory_.smaller(next) = memory_.larger(next) = next;
  } else {
    memory_.smaller(next) = smaller;
    memory_.larger(next) = larger;
    memory_.larger(smaller) = next;
    memory_.smaller(larger) = next;
  }
}

void ChunkBins::file(Chunk chunk) {
  const Chunk previous = memory_.previous(chunk);
  memory_.previous(head(kUnsorted)) = previous;
  memory_.next(previous) = head(kUnsorted);
  const uint32_t units = memory_.units(chunk);
  const uint32_t bin = bin_of(units);
  if (units < kSmallEndUnits) {
    link(chunk, head(bin), memory_.next(head(bin)));
  } else {
    file_large(chunk, units, head(bin));
  }
  maybe_filled_[bin / kBinsPerWord] |= uint64_t{1} << (bin % kBinsPerWord);
}

void ChunkBins::file_large(Chunk chunk, uint32_t units, Chunk bin_head) {
  const Chunk largest = memory_.next(bin_head);
  const Chunk smallest = memory_.previous(bin_head);
  if (largest == bin_head) {
    memory_.smaller(chunk) = memory_.larger(chunk) = chunk;
    link(chunk, bin_head, bin_head);
    return;
  }
  Chunk place = largest;  // the chunk is linked before this one in the list of sizes, a ring
  if (units >= memory_.units(smallest)) {
    while (units < memory_.units(place)) {
      ++counts_.largebin_steps;
      place = memory_.smaller(place);
    }
    if (units == memory_.units(place)) {
      link(chunk, place, memory_.next(place));
      return;
    }
    link(chunk, memory_.previous(place), place);
  } else {
    link(chunk, smallest, bin_head);
  }
  const Chunk larger = memory_.larger(place);
  memory_.smaller(chunk) = place;
  memory_.larger(chunk) = larger;
  memory_.larger(place) = chunk;
  memory_.smaller(larger) = chunk;
}

Chunk ChunkBins::take_large(uint64_t units) {
  const Chunk bin_head = head(large_bin_of(units));
  const Chunk largest = memory_.next(bin_head);
  if (largest == bin_head || memory_.units(largest) < units) return kNoChunk;
  Chunk fit = memory_.larger(largest);  // the smallest
  while (memory_.units(fit) < units) {
    ++counts_.largebin_steps;
    fit = memory_.larger(fit);
  }
  // Taking the second of several leaves the list of sizes unchanged.
  const Chunk second = memory_.next(fit);
  if (second != bin_head && memory_.units(second) == memory_.units(fit)) fit = second;
  unlink(fit);
  return fit;
}

Chunk ChunkBins::take_beyond(uint32_t bin) {
  for (uint32_t word = (bin + 1) / kBinsPerWord; word < maybe_filled_.size(); ++word) {
    uint64_t filled = maybe_filled_[word];
    if (word == (bin + 1) / kBinsPerWord) filled &= ~uint64_t{0} << ((bin + 1) % kBinsPerWord);
    for (; filled != 0; filled &= filled - 1) {
      const uint32_t candidate = word * kBinsPerWord + std::countr_zero(filled);
      const Chunk smallest = memory_.previous(head(candidate));
      if (smallest != head(candidate)) {
        unlink(smallest);
        return smallest;
      }
      maybe_filled_[word] &= ~(uint64_t{1} << (candidate % kBinsPerWord));
    }
  }
  return kNoChunk;
}

}  // namespace heaptape::allocators::ptmalloc
