// The largest growths of committed memory, and why no hole was large enough. docs/metrics.md,
// "Growths of the heap".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/address/address_range.h"
#include "replayer/heap_map/heap_picture.h"

namespace heaptape::replayer {

struct HeapGrowth {
  uint64_t event = 0;               // number of the call, from 1
  uint64_t growth_bytes = 0;        // the rise of committed bytes above their peak so far
  uint64_t request_bytes = 0;       // 0: the call requested nothing
  bool is_own_mapping = false;      // the new memory holds only the block of the call
  uint64_t largest_hole_bytes = 0;  // right before
  uint64_t free_bytes = 0;          // right before, in all holes and tops
  // The block that pinned the largest hole, if that had at least half of the request.
  std::optional<LiveBlock> pin = {};
  std::vector<base::AddressRange> ranges = {};  // newly committed
  // The model's rules that caused it, in the order of `ranges`, separated by "; "; "" = unknown.
  std::string rule = {};
  uint64_t given_back_at = 0;  // the call after which all of it had been given back; 0 = never

  // By how much the largest hole was too small; 0 if it was large enough.
  uint64_t short_bytes() const {
    return request_bytes > largest_hole_bytes ? request_bytes - largest_hole_bytes : 0;
  }
  void add(base::AddressRange committed, const std::string& its_rule);
};

// Keeps the `most` largest, the earlier of equals.
class HeapGrowths {
 public:
  explicit HeapGrowths(size_t most) : most_(most) {}

  // Whether a growth of this size would be kept.
  bool is_kept(uint64_t growth_bytes) const {
    return growth_bytes != 0 && most_ != 0 &&
           (growths_.size() < most_ || growth_bytes > growths_.back().growth_bytes);
  }
  bool is_wanted() const { return most_ != 0; }
  // Requires is_kept().
  void add(HeapGrowth growth);
  void note_given_back(base::AddressRange range, uint64_t event);

  void begin_range() { growths_.clear(); }

  // The largest first.
  const std::vector<HeapGrowth>& list() const { return growths_; }

 private:
  size_t most_;
  std::vector<HeapGrowth> growths_;
};

}  // namespace heaptape::replayer
