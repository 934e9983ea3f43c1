// What the blocks that each stack asked for pin. docs/metrics.md, "Bytes pinned".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "schema/tape/stack.h"

namespace heaptape::replayer {

// In one run, at one call.
struct PinnedStacks {
  std::string label;                 // of the run
  std::vector<std::string> moments;  // that the call is: "peak", "end"
  // Of all stacks together, as many as the resident bytes of the holes; an estimate where stacks
  // were sampled.
  std::map<schema::FrameNumber, uint64_t> bytes;
};

}  // namespace heaptape::replayer
