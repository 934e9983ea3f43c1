#include "allocators/models/slabs/extent_cache.h"

namespace heaptape::allocators::slabs {

void ExtentCache::insert(Extent& extent) {
  const uint32_t bin = extent_bin_of(extent.bytes);
  if (bins_[bin].extents.empty() || extent.rank() < bins_[bin].best)
    bins_[bin].best = extent.rank();
  bins_[bin].extents.insert(extent);
  used_[bin / 64] |= uint64_t{1} << (bin % 64);
  extent.older = newest_;
  extent.newer = nullptr;
  (newest_ != nullptr ? newest_->newer : oldest_) = &extent;
  newest_ = &extent;
  pages_ += extent.bytes >> kPageLog2;
}

void ExtentCache::remove(Extent& extent) {
  const uint32_t bin = extent_bin_of(extent.bytes);
  bins_[bin].extents.remove(extent);
  if (bins_[bin].extents.empty()) {
    used_[bin / 64] &= ~(uint64_t{1} << (bin % 64));
  } else if (extent.rank() == bins_[bin].best) {
    bins_[bin].best = bins_[bin].extents.first()->rank();
  }
  (extent.older != nullptr ? extent.older->newer : oldest_) = extent.newer;
  (extent.newer != nullptr ? extent.newer->older : newest_) = extent.older;
  pages_ -= extent.bytes >> kPageLog2;
}

uint32_t ExtentCache::next_used(uint32_t bin) const {
  for (uint32_t word = bin / 64; word < kWords; ++word) {
    uint64_t bits = used_[word];
    if (word == bin / 64) bits &= ~uint64_t{0} << (bin % 64);
    if (bits != 0) return word * 64 + static_cast<uint32_t>(std::countr_zero(bits));
  }
  return kPageClasses;
}

Extent* ExtentCache::fit(uint64_t bytes, uint64_t alignment, int max_excess_log2,
                         uint64_t& examined) {
  const uint64_t anywhere = bytes + alignment - kPageBytes;
  if (anywhere < bytes || anywhere > kLargestBytes) return nullptr;
  Extent* const found = first_fit(anywhere, max_excess_log2, examined);
  if (found != nullptr || alignment <= kPageBytes) return found;
  return aligned_fit(bytes, anywhere, alignment, examined);
}

Extent* ExtentCache::first_fit(uint64_t bytes, int max_excess_log2, uint64_t& examined) {
  Extent* found = nullptr;
  ExtentRank best;
  for (uint32_t bin = next_used(first_bin_for(bytes)); bin < kPageClasses;
       bin = next_used(bin + 1)) {
    if (page_class_bytes(bin) >> max_excess_log2 > bytes) break;
    ++examined;
    if (found != nullptr && !(bins_[bin].best < best)) continue;
    found = bins_[bin].extents.first();
    best = bins_[bin].best;
  }
  return found;
}

// Smaller extents may do if they happen to be aligned; only the first of each bin is checked.
Extent* ExtentCache::aligned_fit(uint64_t bytes, uint64_t most_bytes, uint64_t alignment,
                                 uint64_t& examined) {
  const uint32_t end = first_bin_for(most_bytes);
  for (uint32_t bin = next_used(first_bin_for(bytes)); bin < end; bin = next_used(bin + 1)) {
    ++examined;
    Extent* const candidate = bins_[bin].extents.first();
    const uint64_t aligned = round_up(candidate->base, alignment);
    if (aligned < candidate->end() && candidate->end() - aligned >= bytes) return candidate;
  }
  return nullptr;
}

}  // namespace heaptape::allocators::slabs
