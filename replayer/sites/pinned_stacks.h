// The memory pinned by the blocks of each stack. docs/metrics.md, "Bytes pinned".
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
  std::vector<std::string> moments;  // names of this call: "peak", "end"
  // The sum over all stacks is the resident bytes of the holes; an estimate if stacks were sampled.
  std::map<schema::FrameNumber, uint64_t> bytes;
};

}  // namespace heaptape::replayer
