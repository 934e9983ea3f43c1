// The heap around its largest holes at one moment, block by block: what a picture of the whole heap
// is too coarse to show. docs/metrics.md, "Close-ups".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "replayer/answers/holes.h"
#include "replayer/heap_map/heap_picture.h"

namespace heaptape::replayer {

struct CloseHole {
  base::AddressRange range;
  uint64_t resident_bytes = 0;
  uint64_t last_free_at = 0;  // number of the latest known call that freed a block in it; 0: none
  size_t before = kNoBlock;   // the blocks on both sides, in CloseupPart::blocks
  size_t after = kNoBlock;
};

// All blocks and holes of which at least a part is in the range, by address, and the blocks on both
// sides of these holes.
struct CloseupPart {
  base::AddressRange range;  // whole pages
  std::vector<LiveBlock> blocks = {};
  std::vector<CloseHole> holes = {};
};

struct Closeup {
  uint64_t at = 0;                      // calls made
  std::vector<CloseupPart> parts = {};  // by address; no two touch
};

// Has the holes with the most resident bytes, as many as come with `most_blocks` blocks in all; at
// least one, if there is any. Each has 16 KiB of addresses on both sides. `holes`: those of the
// picture. Needs no frees in the picture; without them no hole has one.
Closeup close_up(const HeapPicture& picture, std::span<const Hole> holes, size_t most_blocks);

}  // namespace heaptape::replayer
