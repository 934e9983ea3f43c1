// From the blocks that pin to the stacks that asked for them. docs/metrics.md, "Bytes pinned".
#pragma once

#include <vector>

#include "base/result.h"
#include "replayer/engine/replay.h"
#include "replayer/sites/pinned_stacks.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// Of runs that kept their pins, in their order; of these the first kMostPinned. Reads the tape once
// more if there are any, and leaves it somewhere.
base::Result<std::vector<PinnedStacks>> pinned_stacks(schema::TapeReader& tape,
                                                      const std::vector<RunResult>& runs);

}  // namespace heaptape::replayer
