// The blocks that hold the free memory of a heap, grouped by how they were made. docs/metrics.md,
// "Holes and pins".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "replayer/answers/holes.h"

namespace heaptape::replayer {

// Blocks of one requested size, of one thread, born in one stretch of the run: no two consecutive
// births are further apart than a 32nd of the calls made so far.
struct PinGroup {
  uint64_t size_bytes = 0;  // requested, of each
  uint32_t thread = 0;
  uint64_t count = 0;               // blocks beside a hole
  std::vector<size_t> blocks = {};  // these, in HeapPicture::blocks
  uint64_t first_birth = 0;
  uint64_t last_birth = 0;
  uint64_t hole_bytes = 0;  // of the holes beside them, each counted once
  uint64_t resident_hole_bytes = 0;
  // In whole pages of these holes: can be purged while all pins stay.
  uint64_t purgeable_bytes = 0;
};

// The `most` groups with the most resident bytes in holes beside them, the greatest first. A hole
// between blocks of two groups counts for both. Takes the time of sorting the blocks beside holes.
std::vector<PinGroup> rank_pins(const HeapPicture& picture, std::span<const Hole> holes,
                                size_t most);

}  // namespace heaptape::replayer
