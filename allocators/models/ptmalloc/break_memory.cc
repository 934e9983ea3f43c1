#include "allocators/models/ptmalloc/break_memory.h"

#include <algorithm>

namespace heaptape::allocators::ptmalloc {

bool BreakMemory::grow(uint64_t bytes, const CommitRule& rule) {
  if (bytes > kMainMaxBytes - bytes_) return false;
  const uint64_t old_break = kMainBase + bytes_;
  space_.commit({old_break, old_break + bytes}, rule);
  for (uint64_t end = bytes_; end < bytes_ + bytes;) {
    end = std::min(end + kHeapMaxBytes, bytes_ + bytes);
    memory_.open(kMainFirst + static_cast<Chunk>(end >> kUnitLog2));
  }
  bytes_ += bytes;
  most_bytes_ = std::max(most_bytes_, bytes_);
  ++counts_.brk_up;
  return true;
}

void BreakMemory::shrink(uint64_t bytes) {
  bytes_ -= bytes;
  const uint64_t new_break = kMainBase + bytes_;
  space_.decommit({new_break, new_break + bytes});
  ++counts_.brk_down;
}

}  // namespace heaptape::allocators::ptmalloc
