#include "allocators/models/macos_large/death_row.h"

namespace heaptape::allocators::macos_large {

std::optional<CachedBlock> DeathRow::take(uint64_t bytes, uint64_t alignment) {
  size_t best = blocks_.size();
  uint64_t best_bytes = UINT64_MAX;
  for (size_t i = blocks_.size(); i-- > 0 && best_bytes != bytes;) {
    ++entries_scanned_;
    const AddressRange range = blocks_[i].range;
    if (range.begin % alignment != 0) continue;
    if (bytes <= range.bytes() && range.bytes() < best_bytes) {
      best = i;
      best_bytes = range.bytes();
    }
  }
  if (best == blocks_.size() || best_bytes - bytes >= bytes) return std::nullopt;
  const CachedBlock block = blocks_[best];
  blocks_.erase(blocks_.begin() + static_cast<ptrdiff_t>(best));
  return block;
}

std::optional<CachedBlock> DeathRow::push(const CachedBlock& block) {
  std::optional<CachedBlock> oldest;
  if (blocks_.size() == most_entries_) {
    oldest = blocks_.front();
    blocks_.erase(blocks_.begin());
  }
  blocks_.push_back(block);
  return oldest;
}

}  // namespace heaptape::allocators::macos_large
