// How much of the holes of a heap each block beside them pins, so that all together pin as much as
// there is. docs/metrics.md, "Bytes pinned".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replayer/heap_map/heap_picture.h"

namespace heaptape::replayer {

struct PinningBlock {
  uint64_t birth = 0;            // as LiveBlock has it
  uint64_t requested_bytes = 0;  // likewise
  uint64_t bytes = 0;            // of holes beside it, on resident pages; never 0
};

// By address. A hole between two blocks is half of each (of an odd number the second has the byte
// more), one behind the beginning of a region its only neighbour's.
std::vector<PinningBlock> pinning_blocks(const HeapPicture& picture);

// Of one moment, or of several at one call.
struct PinsAtMoment {
  std::vector<std::string> moments;
  std::vector<PinningBlock> blocks;
};

}  // namespace heaptape::replayer
