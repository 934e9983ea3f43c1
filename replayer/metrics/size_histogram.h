// The sizes that a program requests, and which of them stand out. docs/metrics.md, "Sizes and
// lifetimes".
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heaptape::replayer {

struct SizeCounts {
  uint64_t calls = 0;  // that requested such a size and got it
  uint64_t bytes = 0;  // that they requested
  uint64_t smallest = UINT64_MAX;
  uint64_t largest = 0;
  uint64_t live_count = 0;  // blocks of such a size, now
};

struct SizeBucket {
  uint64_t from;  // the smallest and the greatest size that it counts, in bytes
  uint64_t to;
  SizeCounts counts;
  // Over-represented: at least a hundredth of all, and four times the median of the neighbors.
  bool by_calls = false;
  bool by_bytes = false;
};

// Sizes by 16 bytes up to 32 KiB (0 to 16, 17 to 32, ...), by 32 KiB up to 1 GiB, and one bucket
// for the rest. At most 1.4 MiB, and no more than the largest size needs.
class SizeHistogram {
 public:
  // A block of that size was requested and given; or is gone, or no longer of that size.
  void add(uint64_t size) {
    const size_t index = index_of(size);
    if (index >= counts_.size()) [[unlikely]]
      counts_.resize(index + 1);
    SizeCounts& counts = counts_[index];
    ++counts.calls;
    ++counts.live_count;
    counts.bytes += size;
    counts.smallest = std::min(counts.smallest, size);
    counts.largest = std::max(counts.largest, size);
  }
  void remove(uint64_t size) { --counts_[index_of(size)].live_count; }

  // Those with any call, ascending.
  std::vector<SizeBucket> buckets() const;
  // Over all buckets.
  SizeCounts total() const;

 private:
  static constexpr uint64_t kFineLog2 = 4;  // of the bytes of a bucket
  static constexpr uint64_t kCoarseLog2 = 15;
  static constexpr uint64_t kFineEnd = uint64_t{1} << kCoarseLog2;  // the last fine size
  static constexpr uint64_t kCoarseEnd = uint64_t{1} << 30;
  static constexpr size_t kFineBuckets = kFineEnd >> kFineLog2;
  static constexpr size_t kCoarseBuckets = (kCoarseEnd - kFineEnd) >> kCoarseLog2;

  static size_t index_of(uint64_t size) {
    if (size <= kFineEnd) return (size - (size != 0)) >> kFineLog2;
    const uint64_t coarse = (size - kFineEnd - 1) >> kCoarseLog2;
    return kFineBuckets + std::min<uint64_t>(coarse, kCoarseBuckets);
  }
  static uint64_t first_of(size_t index);
  static uint64_t last_of(size_t index);
  bool stands_out(size_t index, uint64_t SizeCounts::* what, uint64_t total) const;

  std::vector<SizeCounts> counts_;
};

}  // namespace heaptape::replayer
