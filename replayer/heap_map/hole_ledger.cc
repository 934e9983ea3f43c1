#include "replayer/heap_map/hole_ledger.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace heaptape::replayer {

namespace {

size_t bucket_of(uint64_t hole_bytes) {
  return static_cast<size_t>(std::bit_width(hole_bytes)) - 1;
}

uint64_t count_from(const HoleStats& stats, size_t log2) {
  uint64_t count = 0;
  for (size_t i = log2; i < stats.histogram.size(); ++i) count += stats.histogram[i].count;
  return count;
}

}  // namespace

HoleLedger::HoleLedger(int granule_log2, uint64_t min_hole_bytes)
    : granule_log2_(granule_log2),
      min_hole_bytes_(std::max(min_hole_bytes, uint64_t{1} << granule_log2)),
      small_counts_(kLargeBytes >> granule_log2) {}

void HoleLedger::note_large(uint64_t gap_bytes, Change gap) {
  if (gap_bytes < min_hole_bytes_) return;
  HoleBucket& bucket = large_histogram_[bucket_of(gap_bytes)];
  if (gap == Change::kCame) {
    ++bucket.count;
    bucket.bytes += gap_bytes;
    add_large(gap_bytes);
  } else {
    --bucket.count;
    bucket.bytes -= gap_bytes;
    remove_large(gap_bytes);
  }
}

// Removals are noted first, so that newest_large_ is free for a new gap.
void HoleLedger::note_large_split(uint64_t whole_bytes, uint64_t left_bytes, uint64_t right_bytes,
                                  Change block) {
  if (block == Change::kCame) note(whole_bytes, Change::kGone);
  note(left_bytes, block);
  note(right_bytes, block);
  if (block == Change::kGone) note(whole_bytes, Change::kCame);
}

void HoleLedger::add_large(uint64_t gap_bytes) {
  if (newest_large_ != 0) ++large_counts_[newest_large_];
  newest_large_ = gap_bytes;
}

void HoleLedger::remove_large(uint64_t gap_bytes) {
  if (newest_large_ == gap_bytes) {
    newest_large_ = 0;
    return;
  }
  const auto entry = large_counts_.find(gap_bytes);
  HEAPTAPE_CHECK(entry != large_counts_.end());
  if (--entry->second == 0) large_counts_.erase(entry);
}

HoleStats HoleLedger::snapshot() const {
  HoleStats stats;
  stats.histogram = large_histogram_;
  const uint64_t round_up = (uint64_t{1} << granule_log2_) - 1;
  const uint64_t first = (min_hole_bytes_ + round_up) >> granule_log2_;
  for (uint64_t granules = first; granules < small_counts_.size(); ++granules) {
    if (small_counts_[granules] == 0) continue;
    const uint64_t bytes = granules << granule_log2_;
    HoleBucket& bucket = stats.histogram[bucket_of(bytes)];
    bucket.count += small_counts_[granules];
    bucket.bytes += small_counts_[granules] * bytes;
    stats.largest = bytes;
  }
  if (!large_counts_.empty()) stats.largest = large_counts_.rbegin()->first;
  stats.largest = std::max(stats.largest, newest_large_);
  for (const HoleBucket& bucket : stats.histogram) stats.bytes += bucket.bytes;
  stats.count = count_from(stats, 0);
  stats.over_64_kib = count_from(stats, 16);
  stats.over_1_mib = count_from(stats, 20);
  stats.over_8_mib = count_from(stats, 23);
  return stats;
}

}  // namespace heaptape::replayer
