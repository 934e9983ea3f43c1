// The largest growths of committed memory, and why no hole would do. docs/metrics.md, "Growths of
// the heap".
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
  uint64_t growth_bytes = 0;        // by how much committed bytes rose above their peak so far
  uint64_t request_bytes = 0;       // 0: the call asked for nothing
  bool is_own_mapping = false;      // what was committed holds the block of the call and no other
  uint64_t largest_hole_bytes = 0;  // right before
  uint64_t free_bytes = 0;          // right before, in all holes and tops
  // Of the largest hole, where it had half of the request and more: the block that pinned it.
  std::optional<LiveBlock> pin = {};
  std::vector<base::AddressRange> ranges = {};  // what was committed
  // By which rules of a model, in the order of what was committed, "; " between two; "" = not
  // known.
  std::string rule = {};
  uint64_t given_back_at = 0;  // the call by which all of it had been given back once; 0 = never

  // By how much the largest hole was too small; 0 if it was not.
  uint64_t short_bytes() const {
    return request_bytes > largest_hole_bytes ? request_bytes - largest_hole_bytes : 0;
  }
  void add(base::AddressRange committed, const std::string& its_rule);
};

// Keeps the `most` largest, the earlier ones of those that are as large.
class HeapGrowths {
 public:
  explicit HeapGrowths(size_t most) : most_(most) {}

  // Whether a growth by so much would be kept.
  bool is_kept(uint64_t growth_bytes) const {
    return growth_bytes != 0 && most_ != 0 &&
           (growths_.size() < most_ || growth_bytes > growths_.back().growth_bytes);
  }
  bool is_wanted() const { return most_ != 0; }
  // Requires is_kept().
  void add(HeapGrowth growth);
  void note_given_back(base::AddressRange range, uint64_t event);

  // The largest first.
  const std::vector<HeapGrowth>& list() const { return growths_; }

 private:
  size_t most_;
  std::vector<HeapGrowth> growths_;
};

}  // namespace heaptape::replayer
