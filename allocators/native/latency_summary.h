// Turns the worker's latency histograms into figures. docs/metrics.md, "Time".
#pragma once

#include <cstdint>
#include <vector>

#include "allocators/backend.h"
#include "allocators/native/worker/worker_protocol.h"

namespace heaptape::allocators {

// The end of the bucket below which `share` of the samples lie, in ticks; for 1, that of the
// highest bucket in use. There are kLatencyBuckets buckets, holding `samples` samples in all.
inline uint64_t latency_quantile(const uint64_t* buckets, uint64_t samples, double share) {
  const auto rank = static_cast<uint64_t>(static_cast<double>(samples) * share);
  uint64_t seen = 0;
  for (uint32_t bucket = 0; bucket < kLatencyBuckets; ++bucket) {
    seen += buckets[bucket];
    if (seen > rank || seen == samples) return latency_bucket_end(bucket);
  }
  return 0;
}

// For each kind that was timed, all its calls, then each timed band of sizes. `histograms` has
// kReplayKinds elements.
std::vector<LatencySummary> summarize_latencies(const LatencyHistogram (*histograms)[kSizeBands],
                                                double ns_per_tick);

}  // namespace heaptape::allocators
