// From the worker's latency histograms to figures. docs/metrics.md, "Time".
#pragma once

#include <vector>

#include "allocators/backend.h"
#include "allocators/native/worker/worker_protocol.h"

namespace heaptape::allocators {

// Of each kind that was timed all its calls, then each band of sizes that was. `histograms` are
// kReplayKinds of them.
std::vector<LatencySummary> summarize_latencies(const LatencyHistogram (*histograms)[kSizeBands],
                                                double ns_per_tick);

}  // namespace heaptape::allocators
