// The ring of freed large blocks that stay mapped ("death row" in libmalloc), searched from the
// newest to the oldest. docs/models/macos-large.md has the rules.
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

  // Takes out a block for `bytes`, if there is one: the newest of exactly that size; else the
  // smallest larger one (the newest of equals), unless more than half of it would be wasted.
  std::optional<CachedBlock> take(uint64_t bytes, uint64_t alignment);
  // Returns the oldest block if the new one pushed it out of a full ring.
  std::optional<CachedBlock> push(const CachedBlock& block);
  // Each free searches the whole ring for the block it is about to enter.
  void scan_for_double_free() { entries_scanned_ += blocks_.size(); }

  const std::vector<CachedBlock>& blocks() const { return blocks_; }  // oldest first
  uint64_t entries_scanned() const { return entries_scanned_; }

 private:
  size_t most_entries_;
  std::vector<CachedBlock> blocks_;
  uint64_t entries_scanned_ = 0;
};

}  // namespace heaptape::allocators::macos_large
