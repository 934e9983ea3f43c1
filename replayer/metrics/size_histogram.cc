#include "replayer/metrics/size_histogram.h"

namespace heaptape::replayer {
namespace {

constexpr size_t kNeighbours = 8;     // on each side
constexpr uint64_t kLeastPart = 100;  // one in this many
constexpr uint64_t kTimesNeighbours = 4;

}  // namespace

uint64_t SizeHistogram::first_of(size_t index) {
  return index == 0 ? 0 : last_of(index - 1) + 1;
}

uint64_t SizeHistogram::last_of(size_t index) {
  if (index < kFineBuckets) return (index + 1) << kFineLog2;
  const size_t coarse = index - kFineBuckets;
  return coarse == kCoarseBuckets ? UINT64_MAX : kFineEnd + ((coarse + 1) << kCoarseLog2);
}

// The median withstands neighbors that stand out themselves. Only buckets of the same width are
// neighbors, and the one for all larger sizes has none.
bool SizeHistogram::stands_out(size_t index, uint64_t SizeCounts::* what, uint64_t total) const {
  const uint64_t value = counts_[index].*what;
  const size_t first = index < kFineBuckets ? 0 : kFineBuckets;
  const size_t end = index < kFineBuckets ? kFineBuckets : kFineBuckets + kCoarseBuckets;
  if (value == 0 || value < (total + kLeastPart - 1) / kLeastPart || index >= end) return false;
  std::vector<uint64_t> around;
  for (size_t i = std::max(first + kNeighbours, index) - kNeighbours;
       i < std::min(end, index + kNeighbours + 1); ++i) {
    if (i != index) around.push_back(i < counts_.size() ? counts_[i].*what : 0);
  }
  const auto median = around.begin() + static_cast<std::ptrdiff_t>(around.size() / 2);
  std::ranges::nth_element(around, median);
  return value / kTimesNeighbours >= *median;
}

std::vector<SizeBucket> SizeHistogram::buckets() const {
  const SizeCounts all = total();
  std::vector<SizeBucket> buckets;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i].calls == 0) continue;
    buckets.push_back({first_of(i), last_of(i), counts_[i],
                       stands_out(i, &SizeCounts::calls, all.calls),
                       stands_out(i, &SizeCounts::bytes, all.bytes)});
  }
  return buckets;
}

SizeCounts SizeHistogram::total() const {
  SizeCounts total;
  for (const SizeCounts& counts : counts_) {
    total.calls += counts.calls;
    total.bytes += counts.bytes;
    total.smallest = std::min(total.smallest, counts.smallest);
    total.largest = std::max(total.largest, counts.largest);
    total.live_count += counts.live_count;
  }
  return total;
}

}  // namespace heaptape::replayer
