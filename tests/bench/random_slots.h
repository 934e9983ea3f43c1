// Mallocs and frees of random slots, about half of which are in use: every free is of a random age.
#pragma once

#include <cstdint>
#include <vector>

#include "allocators/replay_op.h"
#include "tests/support/tapes.h"

namespace heaptape::tests {

class RandomSlots {
 public:
  // Sizes are 1 to `size_limit`.
  RandomSlots(uint32_t slots, uint64_t size_limit, size_t batch_ops)
      : in_use_(slots), size_limit_(size_limit), ops_(batch_ops) {}

  // Valid until the next one.
  const std::vector<allocators::ReplayOp>& next_batch() {
    for (allocators::ReplayOp& op : ops_) {
      op = {};
      op.slot = static_cast<uint32_t>(random_.below(in_use_.size()));
      op.kind = in_use_[op.slot] ? allocators::ReplayKind::kFree : allocators::ReplayKind::kMalloc;
      in_use_[op.slot] = !in_use_[op.slot];
      if (in_use_[op.slot]) op.size = 1 + random_.below(size_limit_);
    }
    return ops_;
  }
  uint32_t slots() const { return static_cast<uint32_t>(in_use_.size()); }

 private:
  Random random_{1};
  std::vector<bool> in_use_;
  const uint64_t size_limit_;
  std::vector<allocators::ReplayOp> ops_;
};

}  // namespace heaptape::tests
