// How many calls one stands for if the recorder sampled calls for their stacks
// (recorder/interposer/stack_sampling.h): the inverse of the chance that a call of its size had,
// which makes sums over sampled calls unbiased estimates of sums over all (D. G. Horvitz and D. J.
// Thompson, 1952).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace heaptape::replayer {

class SampleWeight {
 public:
  SampleWeight() = default;
  // As in schema::StackRecording.
  explicit SampleWeight(uint64_t every_bytes) : every_bytes_(every_bytes) {}

  // 0: all calls were recorded.
  uint64_t every_bytes() const { return every_bytes_; }
  bool is_sampled() const { return every_bytes_ != 0; }
  // The weight of a call for `bytes`, at least 1.
  double of(uint64_t bytes) const {
    if (!is_sampled()) return 1;
    const auto asked = static_cast<double>(std::max<uint64_t>(bytes, 1));
    // No recorder samples more rarely than that (kMostStackBytes).
    constexpr double kMostEveryBytes = uint64_t{1} << 40;
    return -1 / std::expm1(-asked / std::min(static_cast<double>(every_bytes_), kMostEveryBytes));
  }

 private:
  uint64_t every_bytes_ = 0;
};

}  // namespace heaptape::replayer
