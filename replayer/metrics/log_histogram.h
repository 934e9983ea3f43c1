// Counts of values of any size in bounded memory. docs/metrics.md, "Sizes and lifetimes".
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

namespace heaptape::replayer {

// Buckets as in HdrHistogram (G. Tene): each octave in 32 equal parts, and a bucket for each value
// below 64. So a bucket is at most as wide as a 32nd of its smallest value. 15 KiB.
class LogHistogram {
 public:
  struct Bucket {
    uint64_t from;  // the smallest and the greatest value that it counts
    uint64_t to;
    uint64_t count;
  };

  LogHistogram() : counts_(kBuckets) {}

  void add(uint64_t value) { ++counts_[index_of(value)]; }

  uint64_t total() const { return std::reduce(counts_.begin(), counts_.end()); }
  // Those with any value, ascending.
  std::vector<Bucket> buckets() const;
  // The value at `rank` when all are sorted, from 1: exact below 64, else the middle of its bucket,
  // within a 64th. Nothing for a rank that no value has.
  std::optional<uint64_t> value_at(uint64_t rank) const;

  // For classes that keep the counts of such buckets in another way: the bucket of a value, and the
  // middle of a bucket.
  static constexpr unsigned kPartsLog2 = 5;
  static constexpr size_t kParts = size_t{1} << kPartsLog2;
  static constexpr size_t kBuckets = (64 - kPartsLog2 + 1) * kParts;
  static size_t index_of(uint64_t value) {
    if (value < 2 * kParts) return value;
    const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - kPartsLog2 - 1;
    return (size_t{shift} << kPartsLog2) + (value >> shift);
  }
  static uint64_t middle_of(size_t index);

 private:
  static uint64_t first_of(size_t index);
  static uint64_t last_of(size_t index);

  std::vector<uint64_t> counts_;
};

}  // namespace heaptape::replayer
