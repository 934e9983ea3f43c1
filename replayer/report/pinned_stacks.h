// Maps blocks that pin to the stacks that asked for them. docs/metrics.md, "Bytes pinned".
#pragma once

#include <vector>

#include "base/result.h"
#include "replayer/engine/replay.h"
#include "replayer/sites/pinned_stacks.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// For the first kMostPinned runs that kept their pins, in order. If there are any, rereads the
// tape; its reader then has no particular place.
base::Result<std::vector<PinnedStacks>> pinned_stacks(schema::TapeReader& tape,
                                                      const std::vector<RunResult>& runs);

}  // namespace heaptape::replayer
