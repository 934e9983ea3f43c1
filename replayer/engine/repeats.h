// Several replays of one tape on one allocator, made one result. docs/metrics.md, "Time".
#pragma once

#include <vector>

#include "replayer/engine/replay.h"

namespace heaptape::replayer {

// The result of the first one, with the medians of all times. A figure of memory that differs in a
// later one is named in a note. The first that failed is the result. `repeats`: at least one, in
// the order in which they were made.
RunResult merge_repeats(std::vector<RunResult> repeats);

}  // namespace heaptape::replayer
