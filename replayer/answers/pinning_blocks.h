// How much of a heap's holes each block beside them pins; the shares of all blocks add up to all
// resident bytes in holes. docs/metrics.md, "Bytes pinned".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replayer/heap_map/heap_picture.h"

namespace heaptape::replayer {

struct PinningBlock {
  uint64_t birth = 0;            // as in LiveBlock
  uint64_t requested_bytes = 0;  // likewise
  uint64_t bytes = 0;            // of holes beside it, on resident pages; never 0
};

// By address. Each of the two blocks beside a hole has half of it (the second gets an odd byte); a
// hole at the beginning of a region belongs to its only neighbor.
std::vector<PinningBlock> pinning_blocks(const HeapPicture& picture);

// At one moment, or at several with the same call.
struct PinsAtMoment {
  std::vector<std::string> moments;
  std::vector<PinningBlock> blocks;
};

}  // namespace heaptape::replayer
