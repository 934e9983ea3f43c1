// How far a replay put blocks where the recorded run had them. docs/metrics.md, "Fidelity".
#pragma once

#include <cstdint>

#include "allocators/backend.h"

namespace heaptape::replayer {

// Compares offsets from the initial program break, because the heap begins somewhere else in every
// process. Blocks that both runs have outside of the heap, in mappings of their own, say nothing
// and are not counted.
class Fidelity {
 public:
  // 0 = that side has no heap of the kind: nothing can be compared.
  Fidelity(uint64_t recorded_break, uint64_t replayed_break)
      : recorded_break_(recorded_break), replayed_break_(replayed_break) {}

  void compare(uint64_t event, uint64_t recorded_address, uint64_t replayed_address) {
    const uint64_t recorded = recorded_address - recorded_break_;
    const uint64_t replayed = replayed_address - replayed_break_;
    if (recorded >= allocators::kHeapSpanBytes && replayed >= allocators::kHeapSpanBytes) return;
    if (recorded_break_ == 0 || replayed_break_ == 0) return;
    ++compared_;
    if (recorded == replayed) {
      ++same_;
    } else if (first_difference_ == 0) {
      first_difference_ = event;
    }
  }

  uint64_t compared() const { return compared_; }
  uint64_t first_difference() const { return first_difference_; }  // call from 1; 0 = none
  double same_share() const {
    return compared_ == 0 ? 0 : static_cast<double>(same_) / static_cast<double>(compared_);
  }

 private:
  uint64_t recorded_break_;
  uint64_t replayed_break_;
  uint64_t compared_ = 0;
  uint64_t same_ = 0;
  uint64_t first_difference_ = 0;
};

}  // namespace heaptape::replayer
