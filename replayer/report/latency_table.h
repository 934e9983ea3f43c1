// The latency of single calls, as printed by `heaptape replay --latency`.
#pragma once

#include <string>
#include <vector>

#include "replayer/engine/replay.h"

namespace heaptape::replayer {

// A line for each kind of call and size band, run by run; empty if nothing was timed.
std::string latency_table(const std::vector<RunResult>& runs);

}  // namespace heaptape::replayer
