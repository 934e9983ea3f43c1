// The ring of large blocks that were freed and are kept mapped ("death row" in libmalloc), searched
// from the newest to the oldest. docs/models/macos-large.md has the rules.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "allocators/backend.h"

namespace heaptape::allocators::macos_large {

struct CachedBlock {
  AddressRange range;
  bool reusable = false;  // its pages were given up to the system (MADV_FREE_REUSABLE)
};

class DeathRow {
 public:
  explicit DeathRow(size_t most_entries) : most_entries_(most_entries) {}

  // Takes the block for `bytes` out, if there is one: of exactly the size, the newest; else the
  // smallest that is larger, the newest of equals, unless more than half of it would be wasted.
  std::optional<CachedBlock> take(uint64_t bytes, uint64_t alignment);
  // What the new block pushed out of a full ring: the oldest.
  std::optional<CachedBlock> push(const CachedBlock& block);
  // Each free looks through the whole ring for the block it is about to enter.
  void scan_for_double_free() { entries_scanned_ += blocks_.size(); }

  const std::vector<CachedBlock>& blocks() const { return blocks_; }  // oldest first
  uint64_t entries_scanned() const { return entries_scanned_; }

 private:
  size_t most_entries_;
  std::vector<CachedBlock> blocks_;
  uint64_t entries_scanned_ = 0;
};

}  // namespace heaptape::allocators::macos_large
