#include "allocators/native/latency_summary.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

namespace heaptape::allocators {
namespace {

constexpr const char* kBandNames[] = {"to64", "to512", "to4KiB", "to128KiB", "above128KiB"};
static_assert(std::size(kBandNames) == kSizeBands);

uint64_t sample_count(const LatencyHistogram& histogram) {
  uint64_t samples = 0;
  for (const uint64_t bucket : histogram.buckets) samples += bucket;
  return samples;
}

void add(const LatencyHistogram& part, LatencyHistogram& whole) {
  for (uint32_t i = 0; i < kLatencyBuckets; ++i) whole.buckets[i] += part.buckets[i];
  if (part.max_event == 0 || (whole.max_event != 0 && part.max_ticks <= whole.max_ticks)) return;
  whole.max_ticks = part.max_ticks;
  whole.max_event = part.max_event;
}

LatencySummary summary_of(const LatencyHistogram& histogram, double ns_per_tick) {
  const auto to_ns = [ns_per_tick](uint64_t ticks) {
    return static_cast<uint64_t>(static_cast<double>(ticks) * ns_per_tick);
  };
  LatencySummary summary;
  summary.samples = sample_count(histogram);
  // The end of a bucket may lie above the greatest value in it.
  const auto quantile = [&](double share) {
    return to_ns(
        std::min(latency_quantile(histogram.buckets, summary.samples, share), histogram.max_ticks));
  };
  summary.p50_ns = quantile(0.5);
  summary.p99_ns = quantile(0.99);
  summary.p999_ns = quantile(0.999);
  summary.max_ns = to_ns(histogram.max_ticks);
  summary.max_event = histogram.max_event;
  return summary;
}

}  // namespace

std::vector<LatencySummary> summarize_latencies(const LatencyHistogram (*histograms)[kSizeBands],
                                                double ns_per_tick) {
  std::vector<LatencySummary> summaries;
  const auto push = [&](const LatencyHistogram& histogram, int kind, const char* sizes) {
    LatencySummary summary = summary_of(histogram, ns_per_tick);
    summary.kind = static_cast<ReplayKind>(kind);
    summary.sizes = sizes;
    summaries.push_back(std::move(summary));
  };
  for (int kind = 0; kind < kReplayKinds; ++kind) {
    if (kind == static_cast<int>(ReplayKind::kNothing)) continue;
    const auto all = std::make_unique<LatencyHistogram>();
    for (const LatencyHistogram& band : histograms[kind]) add(band, *all);
    if (all->max_event == 0) continue;
    push(*all, kind, "");
    if (kind == static_cast<int>(ReplayKind::kFreeNull)) continue;
    for (int band = 0; band < kSizeBands; ++band) {
      if (histograms[kind][band].max_event != 0)
        push(histograms[kind][band], kind, kBandNames[band]);
    }
  }
  return summaries;
}

}  // namespace heaptape::allocators
