// How long single calls took, as `heaptape replay --latency` prints it.
#pragma once

#include <string>
#include <vector>

#include "replayer/engine/replay.h"

namespace heaptape::replayer {

// A line for each kind of call and each band of sizes, run by run; empty where nothing was timed.
std::string latency_table(const std::vector<RunResult>& runs);

}  // namespace heaptape::replayer
