#include "replayer/metrics/log_histogram.h"

namespace heaptape::replayer {

uint64_t LogHistogram::first_of(size_t index) {
  if (index < 2 * kParts) return index;
  return (index % kParts + kParts) << (index / kParts - 1);
}

uint64_t LogHistogram::last_of(size_t index) {
  return index + 1 == kBuckets ? UINT64_MAX : first_of(index + 1) - 1;
}

uint64_t LogHistogram::middle_of(size_t index) {
  return first_of(index) + (last_of(index) - first_of(index)) / 2;
}

std::vector<LogHistogram::Bucket> LogHistogram::buckets() const {
  std::vector<Bucket> buckets;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] != 0) buckets.push_back({first_of(i), last_of(i), counts_[i]});
  }
  return buckets;
}

std::optional<uint64_t> LogHistogram::value_at(uint64_t rank) const {
  if (rank == 0 || rank > total()) return std::nullopt;
  size_t index = 0;
  for (uint64_t before = counts_[0]; before < rank; before += counts_[index]) ++index;
  return middle_of(index);
}

}  // namespace heaptape::replayer
