// The blocks that hold the free memory of a heap: grouped by how they were made (docs/metrics.md,
// "Holes and pins"), and one by one (docs/metrics.md, "Bytes pinned").
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "replayer/answers/holes.h"
#include "replayer/heap_map/heap_picture.h"

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

// Blocks of one requested size, with the holes that they pin.
struct PinnedBy {
  uint64_t size_bytes = 0;
  uint64_t count = 0;
  uint64_t first_birth = 0;
  uint64_t last_birth = 0;
  uint64_t resident_hole_bytes = 0;
  std::vector<uint64_t> births = {};  // of some of them, evenly chosen
};

// The size whose blocks pin most resident bytes; nothing if no hole has a pin. Each hole belongs to
// its pin_of() alone, so that none counts twice; open holes belong to none. Takes the time of
// sorting the pins.
std::optional<PinnedBy> main_culprit(const HeapPicture& picture, std::span<const Hole> holes);

// How much of a heap's holes each block beside them pins; the shares of all blocks add up to all
// resident bytes in holes, unless some are open. docs/metrics.md, "Bytes pinned".
struct PinningBlock {
  uint64_t birth = 0;            // as in LiveBlock
  uint64_t requested_bytes = 0;  // likewise
  uint64_t bytes = 0;            // of holes beside it, on resident pages; never 0
};

// By address. Each of the two blocks beside a hole has half of it (the second gets an odd byte); a
// hole at the beginning of a region belongs to its only neighbor. The half that borders on unseen
// memory belongs to no block.
std::vector<PinningBlock> pinning_blocks(const HeapPicture& picture);

// At one moment, or at several with the same call.
struct PinsAtMoment {
  std::vector<std::string> moments;
  std::vector<PinningBlock> blocks;
};

}  // namespace heaptape::replayer
