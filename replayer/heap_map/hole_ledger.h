// Counts inner gaps by size, so that hole statistics are available at any moment.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "replayer/heap_map/hole_stats.h"

namespace heaptape::replayer {

// Guarantees:
// - snapshot() does not depend on the order in which gaps came and went.
// - A gap below 64 KiB costs one increment, a larger one at most a step in a map: all sums are left
//   to snapshot().
// - Gaps too small to be holes may be noted or not: they show nowhere.
// - Memory: 32 KiB (64 KiB with 8-byte granules), and an entry for each size of large gap.
//
// The caller notes sizes that are multiples of the granule, and the end only of gaps whose
// beginning it noted: this is checked for large ones. One thread.
class HoleLedger {
 public:
  // A gap of less than min_hole_bytes is not a hole.
  HoleLedger(int granule_log2, uint64_t min_hole_bytes);

  // One gap of this size came or went.
  void note(uint64_t gap_bytes, Change gap) {
    if (gap_bytes < kLargeBytes) [[likely]] {
      small_count(gap_bytes) += static_cast<uint64_t>(gap);
    } else {
      note_large(gap_bytes, gap);
    }
  }
  // A block was placed in a gap, leaving two gaps, which may be empty; or such a block went.
  void note_split(uint64_t whole_bytes, uint64_t left_bytes, uint64_t right_bytes, Change block) {
    if (whole_bytes < kLargeBytes) [[likely]] {
      small_count(whole_bytes) -= static_cast<uint64_t>(block);
      small_count(left_bytes) += static_cast<uint64_t>(block);
      small_count(right_bytes) += static_cast<uint64_t>(block);
    } else {
      note_large_split(whole_bytes, left_bytes, right_bytes, block);
    }
  }

  // Everything but top_bytes. Reads an array of 4096 counts (8192 with 8-byte granules).
  HoleStats snapshot() const;

 private:
  static constexpr uint64_t kLargeBytes = 64 << 10;

  uint64_t& small_count(uint64_t gap_bytes) { return small_counts_[gap_bytes >> granule_log2_]; }
  void note_large(uint64_t gap_bytes, Change gap);
  void note_large_split(uint64_t whole_bytes, uint64_t left_bytes, uint64_t right_bytes,
                        Change block);
  void add_large(uint64_t gap_bytes);
  void remove_large(uint64_t gap_bytes);

  int granule_log2_;
  uint64_t min_hole_bytes_;
  std::vector<uint64_t> small_counts_;  // by granules; meaningless for gaps too small to be holes
  std::array<HoleBucket, 64> large_histogram_{};
  std::map<uint64_t, uint64_t> large_counts_;  // by bytes, without newest_large_
  // The newest large gap, 0 if it went. Cutting blocks one after another from a large gap changes
  // only this, not the map.
  uint64_t newest_large_ = 0;
};

}  // namespace heaptape::replayer
