// Frames of stacks as a tree, as both ends of a ring number them: each frame keeps some of its
// callees beside it, so most are found without searching a table, which would cost cache misses.
// Free of the C++ run-time library.
#pragma once

#include <cstdint>

namespace heaptape::recorder {

inline constexpr uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;  // of 2^64

// Fibonacci hashing (Knuth, TAOCP 3, 6.4): the high bits are good.
inline uint64_t hash_of_frame(uint32_t caller, uint64_t return_address) {
  return (return_address + (uint64_t{caller} << 40 | caller)) * kGoldenRatio;
}

// The numbers of up to four callees of one frame. All zero at first. A jump out of add() leaves it
// whole, though it may lack a callee.
class NearCallees {
 public:
  static constexpr uint32_t kMost = 4;

  // The callee that returns to the address, as is(number) confirms; 0 if not among these.
  template <typename Is>
  uint32_t find(uint64_t return_address, Is is) const {
    const uint8_t tag = tag_of(return_address);
    for (uint32_t i = 0; i < kMost && numbers_[i] != 0; ++i) {
      if (tags_[i] == tag && is(numbers_[i])) return numbers_[i];
    }
    return 0;
  }
  bool is_full() const { return numbers_[kMost - 1] != 0; }
  // Replaces another if it is full.
  void add(uint64_t return_address, uint32_t number) {
    uint32_t i = 0;
    while (i < kMost && numbers_[i] != 0) ++i;
    if (i == kMost) i = number % kMost;
    tags_[i] = tag_of(return_address);
    asm volatile("" ::: "memory");
    numbers_[i] = number;
  }
  template <typename Visit>
  void for_each(Visit visit) const {
    for (uint32_t i = 0; i < kMost && numbers_[i] != 0; ++i) visit(numbers_[i]);
  }

 private:
  static uint8_t tag_of(uint64_t return_address) { return return_address * kGoldenRatio >> 56; }

  uint8_t tags_[kMost];
  uint32_t numbers_[kMost];
};

}  // namespace heaptape::recorder
