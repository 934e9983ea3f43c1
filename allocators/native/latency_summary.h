// Turns the worker's latency histograms into figures. docs/metrics.md, "Time".
#pragma once

#include <vector>

#include "allocators/backend.h"
#include "allocators/native/worker/worker_protocol.h"

namespace heaptape::allocators {

// For each kind that was timed, all its calls, then each timed band of sizes. `histograms` has
// kReplayKinds elements.
std::vector<LatencySummary> summarize_latencies(const LatencyHistogram (*histograms)[kSizeBands],
                                                double ns_per_tick);

}  // namespace heaptape::allocators
